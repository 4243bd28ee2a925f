/**
 * Shows one order: its payment instructions, the remaining time and its status. While the page is visible, it refreshes
 * the order again and again until no further change is expected.
 */
import { useEffect, useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useLoaded } from "../../api/Loaded.ts"
import { canBePaid, pollMillisOf, stateOf } from "../../api/OrderState.ts"
import type { Order } from "../../api/Reseller.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import type { PageProps } from "../../routes/Routes.ts"
import { pathOf } from "../../routes/Routes.ts"
import { nowMillis } from "../../state/Clock.ts"
import { Loading, ProblemNotice } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { OrderNotice } from "./OrderStatus.tsx"
import { PayInstructions } from "./PayInstructions.tsx"

const useNow = (): number => {
  const [now, setNow] = useState(nowMillis())
  useEffect(() => {
    const timer = setInterval(() => setNow(nowMillis()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return now
}

const twoDigits = (count: number): string => String(count).padStart(2, "0")

/** The time until the deadline. Screen readers do not announce it, because it changes every second. */
const Countdown = ({ until }: { readonly until: string }) => {
  const { topUps } = useTexts()
  const format = useFormat()
  const seconds = Math.max(0, Math.floor((Date.parse(until) - useNow()) / 1_000))
  const hours = Math.floor(seconds / 3_600)
  const shown = `${hours > 0 ? `${hours}:` : ""}${twoDigits(Math.floor(seconds / 60) % 60)}:${twoDigits(seconds % 60)}`
  return (
    <p class="countdown">
      <span>{topUps.timeLeft}</span>
      <strong role="timer">{shown}</strong>
      <small>{topUps.payBefore(format.time(until))}</small>
    </p>
  )
}

const Details = ({ order }: { readonly order: Order }) => {
  const { topUps } = useTexts()
  const format = useFormat()
  const lines: ReadonlyArray<readonly [string, string | undefined]> = [
    [topUps.number, order.order_number],
    [topUps.method, topUps.methods[order.payment_method]],
    [topUps.provider, order.provider],
    [topUps.amount, order.amount_idr === undefined ? undefined : format.idr(order.amount_idr)],
    [topUps.fee, order.fee_idr === undefined ? undefined : format.idr(order.fee_idr)],
    [topUps.toPay, order.total_idr === undefined ? undefined : format.idr(order.total_idr)],
    [topUps.quota, format.usd(order.quota_usd_micro)],
    [topUps.created, format.time(order.created_at)],
    [topUps.deadline, format.time(order.expires_at)],
    [topUps.paidAt, order.paid_at === undefined ? undefined : format.time(order.paid_at)],
    [topUps.creditedAt, order.credited_at === undefined ? undefined : format.time(order.credited_at)]
  ]
  return (
    <Card title={topUps.details}>
      <dl class="summary">
        {lines.map(([name, value]) =>
          value === undefined ? null : (
            <div key={name} class="contents">
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          )
        )}
      </dl>
    </Card>
  )
}

export const TopUp = ({ id }: PageProps) => {
  const { topUps, shell } = useTexts()
  const format = useFormat()
  const order = useLoaded(
    (signal) => bodyOf(api.GET("/api/reseller/topup/{orderID}", { params: { path: { orderID: id } }, signal })),
    [id]
  )
  const data = order.data
  const state = data === undefined ? undefined : stateOf(data)
  const pollMillis = state === undefined ? undefined : pollMillisOf(state)
  useEffect(() => {
    if (pollMillis === undefined || order.loading) return
    const reloadIfVisible = () => {
      if (!document.hidden) order.reload()
    }
    const timer = setTimeout(reloadIfVisible, pollMillis)
    document.addEventListener("visibilitychange", reloadIfVisible)
    return () => {
      clearTimeout(timer)
      document.removeEventListener("visibilitychange", reloadIfVisible)
    }
  }, [pollMillis, order.loading, data])
  const back = { path: pathOf("topUps"), text: shell.pages.topUps }
  if (data === undefined) {
    return (
      <Page title={topUps.one} back={back}>
        <Loading problem={order.problem} retry={order.reload} />
      </Page>
    )
  }
  return (
    <Page title={topUps.oneOf(format.usd(data.quota_usd_micro))} back={back}>
      <OrderNotice order={data} />
      <ProblemNotice problem={order.problem} />
      <div class="columns">
        {canBePaid(stateOf(data)) && (
          <Card title={topUps.pay}>
            <PayInstructions order={data} />
            <Countdown until={data.expires_at} />
          </Card>
        )}
        <Details order={data} />
      </div>
    </Page>
  )
}
