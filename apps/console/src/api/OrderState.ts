/**
 * The state of an order, as the reseller sees it.
 */
import { nowMillis } from "../state/Clock.ts"

interface OrderFacts {
  readonly status: "pending" | "crediting" | "credited" | "expired" | "failed"
  readonly expires_at: string
  readonly paid_at?: string | undefined
  readonly received_raw?: string | undefined
  readonly expected_raw?: string | undefined
}

/** True if the order is not paid in full and its deadline has not passed. */
export const isPayable = ({ status, expires_at }: Pick<OrderFacts, "status" | "expires_at">): boolean =>
  status === "pending" && Date.parse(expires_at) > nowMillis()

/**
 * True if less than the expected amount has arrived for an order that is not credited. Only orders by `crypto_bep20`
 * state the received amount, and only after a deposit has arrived.
 */
export const isUnderpaid = (order: OrderFacts): boolean =>
  order.status !== "credited" &&
  order.received_raw !== undefined &&
  order.expected_raw !== undefined &&
  BigInt(order.received_raw) < BigInt(order.expected_raw)

/** True if the payment arrived after the deadline. */
export const isLate = ({ paid_at, expires_at }: OrderFacts): boolean =>
  paid_at !== undefined && Date.parse(paid_at) > Date.parse(expires_at)

export type OrderState =
  | "waiting"
  | "underpaid"
  | "underpaidLate"
  | "overdue"
  | "crediting"
  | "credited"
  | "late"
  | "expired"
  | "failed"

/** Returns the state of an order. An order past its deadline is not shown as waiting for a payment. */
export const stateOf = (order: OrderFacts): OrderState => {
  if (order.status === "credited") return isLate(order) ? "late" : "credited"
  if (order.status === "crediting" || order.status === "failed") return order.status
  if (isUnderpaid(order)) return isPayable(order) ? "underpaid" : "underpaidLate"
  if (order.status === "expired") return "expired"
  return isPayable(order) ? "waiting" : "overdue"
}

/** True if the reseller can pay before the deadline. Only then does the page show the payment instructions. */
export const canBePaid = (state: OrderState): boolean => state === "waiting" || state === "underpaid"

const POLL_MILLIS = 4_000
/** The pause after the deadline. A late payment is still credited, but late payments are rare. */
const SLOW_POLL_MILLIS = 30_000

/** Returns the pause before the next read of the order; undefined if no change is expected. */
export const pollMillisOf = (state: OrderState): number | undefined => {
  if (canBePaid(state) || state === "crediting") return POLL_MILLIS
  return state === "overdue" || state === "expired" || state === "underpaidLate" ? SLOW_POLL_MILLIS : undefined
}
