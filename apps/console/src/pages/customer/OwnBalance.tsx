/**
 * The customer's own plans, balance and usage.
 */
import { api, bodyOf } from "../../api/Client.ts"
import { useLoaded } from "../../api/Loaded.ts"
import { jakartaDay } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { pathOf } from "../../routes/Routes.ts"
import { Balances } from "../../ui/Balances.tsx"
import { DailyUsageCard } from "../../ui/DailyUsageCard.tsx"
import { Download } from "../../ui/Download.tsx"
import { LimitTable } from "../../ui/KeyLimits.tsx"
import { Loading } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { usePages } from "../../ui/Pages.tsx"
import { RowList } from "../../ui/RowList.tsx"
import { UsageRow } from "../../ui/UsageRow.tsx"

const DAYS_SHOWN = 30

const OwnUsage = () => {
  const { usage: texts, clients } = useTexts()
  const daily = useLoaded(
    (signal) => bodyOf(api.GET("/v1/usage/daily", { params: { query: { from: jakartaDay(DAYS_SHOWN - 1) } }, signal })),
    []
  )
  return (
    <DailyUsageCard title={texts.lastDays(DAYS_SHOWN)} usage={daily}>
      <p>{clients.firstRequest}</p>
      <a class="button" href={pathOf("clients")}>
        {clients.title}
      </a>
    </DailyUsageCard>
  )
}

const OwnRequests = () => {
  const { usage: texts } = useTexts()
  const items = usePages(
    (cursor) => bodyOf(api.GET("/v1/usage", { params: { query: cursor === undefined ? {} : { cursor } } })),
    []
  )
  if (items.cursor === null && items.items.length === 0) return null
  return (
    <Card title={texts.items} aside={<Download path="/v1/usage.csv" />}>
      <RowList
        pages={items}
        none={texts.none}
        // An item has no id. Its index is a stable key, because the list only grows at its end.
        row={(item, i) => <UsageRow key={i} item={item} />}
      />
    </Card>
  )
}

export const OwnBalance = () => {
  const { balance: texts, limits, shell } = useTexts()
  const balance = useLoaded((signal) => bodyOf(api.GET("/v1/balance", { signal })), [])
  return (
    <Page title={shell.pages.balance}>
      <div class="columns">
        <div class="stack">
          <Card title={texts.title}>
            {balance.data === undefined ? (
              <Loading problem={balance.problem} retry={balance.reload} />
            ) : (
              <Balances balances={balance.data} hint={texts.askReseller} />
            )}
          </Card>
          {balance.data?.limits !== undefined && (
            <Card title={limits.ofYourKey}>
              <LimitTable limits={balance.data.limits} usage={balance.data.limit_usage} />
            </Card>
          )}
        </div>
        <OwnUsage />
      </div>
      <OwnRequests />
    </Page>
  )
}
