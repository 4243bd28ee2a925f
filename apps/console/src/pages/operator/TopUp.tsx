/**
 * One top-up order as it is stored, and its refresh from the payment provider.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useAction, useLoaded } from "../../api/Loaded.ts"
import type { OperatorTopUp } from "../../api/Operator.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { operatorPath, type PageProps, pathOf } from "../../routes/Routes.ts"
import { type Fact, Facts } from "../../ui/Facts.tsx"
import { Form, Submit } from "../../ui/Forms.tsx"
import { Notice } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { LoadingPage } from "./LoadingPage.tsx"
import { AnomalyBadges, StatusBadge } from "./OrderBadges.tsx"
import { OperatorProblem } from "./Problems.tsx"

const lines = (texts: ReadonlyArray<string>) =>
  texts.length === 0 ? undefined : texts.map((text) => <div key={text}>{text}</div>)

const Details = ({ order }: { readonly order: OperatorTopUp }) => {
  const { topUps: shared } = useTexts()
  const { topUps: texts } = useOperatorTexts()
  const format = useFormat()
  const idr = (amount: string | null) => (amount === null ? undefined : format.idr(Number.parseInt(amount, 10)))
  const time = (instant: string | null) => (instant === null ? undefined : format.time(instant))
  const usd = (micro: string | null) => (micro === null ? undefined : format.usd(micro))
  const facts: ReadonlyArray<Fact> = [
    [shared.number, <code>{order.order_number}</code>],
    [
      texts.reseller,
      <a href={operatorPath("operatorReseller", order.reseller_id)} dir="auto">
        {order.reseller_email}
      </a>
    ],
    [shared.method, shared.methods[order.payment_method]],
    [shared.provider, order.provider],
    [texts.paymentId, order.provider_payment_id],
    [shared.amount, idr(order.amount_idr)],
    [shared.fee, idr(order.fee_idr)],
    [shared.toPay, idr(order.total_idr)],
    [shared.token, order.token_kind?.toUpperCase()],
    [shared.quota, <strong class="money">{format.usd(order.quota_usd_micro)}</strong>],
    [texts.received, usd(order.received_usd_micro)],
    [texts.excess, order.excess_usd_micro === "0" ? undefined : format.usd(order.excess_usd_micro)],
    [shared.created, format.time(order.created_at)],
    [shared.deadline, format.time(order.expires_at)],
    [shared.paidAt, time(order.paid_at)],
    [shared.creditedAt, time(order.credited_at)],
    [texts.refreshedAt, time(order.checked_at)],
    [texts.transactions, lines(order.transactions)],
    [texts.payTo, lines(order.pay_to)],
    [texts.remarks, lines(order.remarks)]
  ]
  const badges = (
    <span class="actions">
      <StatusBadge order={order} />
      <AnomalyBadges order={order} />
    </span>
  )
  return (
    <Card title={shared.details} aside={badges}>
      {order.simulated && <Notice kind="info">{texts.simulated}</Notice>}
      <Facts facts={facts} />
    </Card>
  )
}

export const TopUp = ({ id }: PageProps) => {
  const { shell, topUps: shared } = useTexts()
  const { topUps: texts } = useOperatorTexts()
  const format = useFormat()
  const [fresh, setFresh] = useState<OperatorTopUp>()
  const [wasRead, setRead] = useState<boolean>()
  const path = { order: id }
  const order = useLoaded(
    (signal) => bodyOf(api.GET("/api/operator/topups/{order}", { params: { path }, signal })),
    [id]
  )
  const refresh = useAction(async () => {
    setRead(undefined)
    const { refreshed, topup } = await bodyOf(api.POST("/api/operator/topups/{order}/refresh", { params: { path } }))
    setFresh(topup)
    setRead(refreshed)
  })
  const back = { path: pathOf("operatorTopUps"), text: shell.pages.operatorTopUps }
  const data = fresh ?? order.data
  if (data === undefined) return <LoadingPage title={shared.one} back={back} loaded={order} />
  return (
    <Page title={shared.oneOf(format.usd(data.quota_usd_micro))} back={back}>
      <Details order={data} />
      <Card title={texts.refresh}>
        <Form onSubmit={() => refresh.run()}>
          <p class="muted">{texts.refreshText}</p>
          {wasRead !== undefined && (
            <Notice kind={wasRead ? "good" : "warn"}>{wasRead ? texts.refreshDone : texts.refreshFailed}</Notice>
          )}
          <OperatorProblem problem={refresh.problem} />
          <Submit running={refresh.running}>{texts.refresh}</Submit>
        </Form>
      </Card>
    </Page>
  )
}
