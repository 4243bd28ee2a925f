/**
 * Describes the state of an order: its status, and the consequences for an underpaid or late order.
 */

import { type OrderState, stateOf } from "../../api/OrderState.ts"
import type { Order } from "../../api/Reseller.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { Notice } from "../../ui/Notices.tsx"

const kinds: { readonly [S in OrderState]: "info" | "good" | "warn" | "bad" } = {
  waiting: "info",
  underpaid: "warn",
  underpaidLate: "warn",
  overdue: "warn",
  crediting: "info",
  credited: "good",
  late: "good",
  expired: "warn",
  failed: "bad"
}

export const OrderBadge = ({ order }: { readonly order: Order }) => {
  const { topUps } = useTexts()
  const state = stateOf(order)
  return <span class={`badge ${kinds[state]}`}>{topUps.states[state]}</span>
}

/** Converts units of 10^-18 tokens to a number of tokens whose decimals do not end with zeros. */
export const tokensOf = (raw: string): string => {
  const digits = raw.padStart(19, "0")
  const fraction = digits.slice(-18).replace(/0+$/, "")
  return fraction === "" ? digits.slice(0, -18) : `${digits.slice(0, -18)}.${fraction}`
}

/** Explains the state. Screen readers announce a new state, because the user waits for it. */
export const OrderNotice = ({ order }: { readonly order: Order }) => {
  const { topUps } = useTexts()
  const format = useFormat()
  const state = stateOf(order)
  const quota = format.usd(order.quota_usd_micro)
  const received = tokensOf(order.received_raw ?? "0")
  const missing = tokensOf((BigInt(order.expected_raw ?? "0") - BigInt(order.received_raw ?? "0")).toString())
  const token = (order.token_kind ?? "").toUpperCase()
  const said: { readonly [S in OrderState]: string } = {
    waiting: topUps.waiting,
    underpaid: topUps.underpaid(`${received} ${token}`, `${missing} ${token}`),
    underpaidLate: topUps.underpaidLate(`${received} ${token}`, `${missing} ${token}`),
    overdue: topUps.overdue,
    crediting: topUps.crediting,
    credited: topUps.credited(quota),
    late: topUps.late(quota),
    expired: topUps.expired,
    failed: topUps.failed
  }
  return (
    <Notice kind={kinds[state]} title={topUps.states[state]}>
      {said[state]}
    </Notice>
  )
}
