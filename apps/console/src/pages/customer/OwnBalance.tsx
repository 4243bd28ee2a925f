/**
 * The customer's own plans, balance and usage.
 */
import { api, bodyOf } from "../../api/Client.ts"
import { useLoaded } from "../../api/Loaded.ts"
import { jakartaDay, useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { pathOf } from "../../routes/Routes.ts"
import { Balances } from "../../ui/Balances.tsx"
import { Download } from "../../ui/Download.tsx"
import { LimitTable } from "../../ui/KeyLimits.tsx"
import { Empty, Loading } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { More, usePages } from "../../ui/Pages.tsx"
import { UsageChart } from "../../ui/UsageChart.tsx"
import { UsageSums } from "../../ui/UsageSums.tsx"

const DAYS_SHOWN = 30

const OwnUsage = () => {
  const { usage: texts, clients } = useTexts()
  const daily = useLoaded(
    (signal) => bodyOf(api.GET("/v1/usage/daily", { params: { query: { from: jakartaDay(DAYS_SHOWN - 1) } }, signal })),
    []
  )
  return (
    <Card title={texts.lastDays(DAYS_SHOWN)}>
      {daily.data === undefined ? (
        <Loading problem={daily.problem} retry={daily.reload} />
      ) : daily.data.days.length === 0 ? (
        <Empty title={texts.none}>
          <p>{clients.firstRequest}</p>
          <a class="button" href={pathOf("clients")}>
            {clients.title}
          </a>
        </Empty>
      ) : (
        <>
          <UsageSums usage={daily.data} />
          <UsageChart usage={daily.data} />
        </>
      )}
    </Card>
  )
}

const OwnRequests = () => {
  const { usage: texts } = useTexts()
  const format = useFormat()
  const items = usePages(
    (cursor) => bodyOf(api.GET("/v1/usage", { params: { query: cursor === undefined ? {} : { cursor } } })),
    []
  )
  if (items.cursor === null && items.items.length === 0) return null
  return (
    <Card title={texts.items} aside={<Download path="/v1/usage.csv" />}>
      <ul class="rows">
        {items.items.map((item, i) => (
          // An item has no id, and the list only grows at its end.
          <li class="row" key={i}>
            <span class="row-main">
              <span dir="auto">{item.model}</span>
              <small>{format.time(item.timestamp)}</small>
            </span>
            <span class="row-side">
              <span class="money">{texts.tokensOf(format.count(item.total_tokens))}</span>
              <small class="money">{format.cost(item.display_cost_usd_micro)}</small>
            </span>
          </li>
        ))}
      </ul>
      <More pages={items} />
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
