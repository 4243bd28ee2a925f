/**
 * One customer: its balances, its API keys, its usage, and the credit of its pay-as-you-go balance.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useLoaded } from "../../api/Loaded.ts"
import { pageQuery } from "../../api/Operator.ts"
import { jakartaDay } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { type PageProps, pathOf } from "../../routes/Routes.ts"
import { nowMillis } from "../../state/Clock.ts"
import { Balances } from "../../ui/Balances.tsx"
import { DailyUsageCard } from "../../ui/DailyUsageCard.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { usePages } from "../../ui/Pages.tsx"
import { RowList } from "../../ui/RowList.tsx"
import { UsageRow } from "../../ui/UsageRow.tsx"
import { BookingForm } from "./BookingForm.tsx"
import { KeysCard } from "./KeysCard.tsx"
import { LoadingPage } from "./LoadingPage.tsx"
import { OperatorProblem } from "./Problems.tsx"

const DAYS_SHOWN = 30

interface PartProps {
  readonly id: string
}

const Usage = ({ id }: PartProps) => {
  const { usage: texts } = useTexts()
  const { customers } = useOperatorTexts()
  const from = jakartaDay(DAYS_SHOWN - 1)
  const usage = useLoaded(
    (signal) =>
      bodyOf(
        api.GET("/api/operator/customers/{customer}/usage/daily", {
          params: { path: { customer: id }, query: { from } },
          signal
        })
      ),
    [id]
  )
  return (
    <DailyUsageCard title={texts.lastDays(DAYS_SHOWN)} usage={usage}>
      <p>{customers.noUsageText}</p>
    </DailyUsageCard>
  )
}

const Requests = ({ id }: PartProps) => {
  const { usage: texts } = useTexts()
  const { customers } = useOperatorTexts()
  const items = usePages(
    (cursor) =>
      bodyOf(
        api.GET("/api/operator/customers/{customer}/usage", {
          params: { path: { customer: id }, query: pageQuery({}, cursor) }
        })
      ),
    [id]
  )
  return (
    <Card title={texts.items}>
      <RowList pages={items} none={texts.none} hint={customers.noUsageText} row={(item) => <UsageRow item={item} />} />
    </Card>
  )
}

export const Customer = ({ id }: PageProps) => {
  const { shell } = useTexts()
  const { booking, customers: texts, keys } = useOperatorTexts()
  const [round, setRound] = useState(0)
  const path = { customer: id }
  const customer = useLoaded(
    async (signal) => {
      const shown = await bodyOf(api.GET("/api/operator/customers/{customer}", { params: { path }, signal }))
      return { ...shown, as_of: new Date(nowMillis()).toISOString() }
    },
    [id, round]
  )
  const back = { path: pathOf("operatorCustomers"), text: shell.pages.operatorCustomers }
  const { data } = customer
  if (data === undefined) return <LoadingPage title={texts.one} back={back} loaded={customer} />
  return (
    <Page title={data.email} back={back}>
      <OperatorProblem problem={customer.problem} retry={customer.reload} />
      <div class="columns">
        <Card
          title={texts.balances}
          aside={
            <span class={data.status === "active" ? "badge good" : "badge bad"}>{texts.statuses[data.status]}</span>
          }
        >
          <Balances balances={data} hint={texts.noPlansText} />
        </Card>
        <BookingForm
          title={booking.credit}
          account={`payg ${id}`}
          balanceUsdMicro={data.payg.balance_usd_micro}
          book={async (body) => {
            const done = await bodyOf(
              api.POST("/api/operator/customers/{customer}/credit", { params: { path }, body: { ...body } })
            )
            return { balanceUsdMicro: done.payg.balance_usd_micro, wasBooked: done.already_applied }
          }}
          onBooked={() => setRound((count) => count + 1)}
        />
      </div>
      <KeysCard
        title={keys.title}
        owner={id}
        read={(query) => bodyOf(api.GET("/api/operator/customers/{customer}/keys", { params: { path, query } }))}
      />
      <Usage id={id} />
      <Requests id={id} />
    </Page>
  )
}
