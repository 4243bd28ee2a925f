/**
 * One customer of the reseller: balances, API keys and usage.
 */

import { api, bodyOf } from "../../api/Client.ts"
import { useLoaded } from "../../api/Loaded.ts"
import { readCustomers } from "../../api/Reseller.ts"
import { jakartaDay } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import type { PageProps } from "../../routes/Routes.ts"
import { pathOf } from "../../routes/Routes.ts"
import { Balances } from "../../ui/Balances.tsx"
import { Empty, Loading } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { UsageChart } from "../../ui/UsageChart.tsx"
import { CustomerKeys } from "./CustomerKeys.tsx"

const DAYS_SHOWN = 30

const CustomerUsage = ({ id }: { readonly id: string }) => {
  const { customers, usage: texts } = useTexts()
  const usage = useLoaded(
    (signal) =>
      bodyOf(
        api.GET("/api/reseller/usage/daily", {
          params: { query: { customer: id, from: jakartaDay(DAYS_SHOWN - 1) } },
          signal
        })
      ),
    [id]
  )
  const all = <a href={`${pathOf("usage")}?customer=${id}`}>{texts.items}</a>
  return (
    <Card title={texts.lastDays(DAYS_SHOWN)} aside={all}>
      {usage.data === undefined ? (
        <Loading problem={usage.problem} retry={usage.reload} />
      ) : usage.data.days.length === 0 ? (
        <Empty title={texts.none}>
          <p>{customers.noUsageText}</p>
        </Empty>
      ) : (
        <UsageChart usage={usage.data} />
      )}
    </Card>
  )
}

export const Customer = ({ id }: PageProps) => {
  const { customers, shell } = useTexts()
  const customer = useLoaded(
    async (signal) => (await readCustomers(signal)).find(({ user_id }) => user_id === id),
    [id]
  )
  const balances = useLoaded(
    (signal) =>
      bodyOf(api.GET("/api/reseller/customers/{userID}/balances", { params: { path: { userID: id } }, signal })),
    [id]
  )
  const back = { path: pathOf("customers"), text: shell.pages.customers }
  const email = customer.data?.email
  const mint =
    email === undefined ? (
      <Loading problem={customer.problem} retry={customer.reload} />
    ) : (
      <a class="button primary" href={`${pathOf("mint")}?email=${encodeURIComponent(email)}`}>
        {customers.mint}
      </a>
    )
  if (!customer.loading && customer.problem === undefined && email === undefined) {
    return (
      <Page title={customers.unknown} back={back}>
        <Empty title={customers.unknownText} />
      </Page>
    )
  }
  return (
    <Page title={email ?? customers.one} back={back} actions={mint}>
      <div class="columns">
        <Card title={customers.balances}>
          {balances.data === undefined ? (
            <Loading problem={balances.problem} retry={balances.reload} />
          ) : (
            <Balances balances={balances.data} hint={customers.noPlansText} />
          )}
        </Card>
        <CustomerKeys id={id} models={balances.data?.token_plans.map(({ model }) => model)} />
      </div>
      <CustomerUsage id={id} />
    </Page>
  )
}
