/**
 * Stores a booking that the operator is making, an adjustment of quota or a credit, until its result is known or the
 * operator discards it.
 *
 * The operation id is chosen before the first request (docs/reference/operator.md#o9). The booking is stored in
 * `sessionStorage`, one for each account and operator. Therefore neither a reload of the page nor the session of
 * another operator in the same tab loses the operation id.
 */
import { useState } from "preact/hooks"
import { newOperationId } from "./OperationId.ts"
import { $session } from "./Session.ts"

export interface PendingBooking {
  readonly actor: string
  readonly operationId: string
  /** The change as digits, with a leading `-` for a deduction. */
  readonly amountUsdMicro: string
  readonly reason: string
  /** True if the change may already be booked: from a request on, until a response proves that no request booked it. */
  readonly isSent: boolean
}

const actorNow = (): string => {
  const session = $session.get()
  return session?.kind === "operator" ? session.actor : ""
}

/** Returns the stored booking if the operator of the session made it. */
const stored = (key: string): PendingBooking | undefined => {
  try {
    const booking: PendingBooking | null = JSON.parse(sessionStorage.getItem(key) ?? "null")
    return booking?.actor === actorNow() ? booking : undefined
  } catch {
    return undefined
  }
}

export interface Booking {
  readonly pending: PendingBooking | undefined
  readonly prepare: (amountUsdMicro: string, reason: string) => void
  /** Stores whether the change may already be booked. */
  readonly markSent: (isSent: boolean) => void
  readonly forget: () => void
}

/** Returns the pending booking of an account. `account` names the account, such as `quota <id of the reseller>`. */
export const useBooking = (account: string): Booking => {
  const key = `tollgate.booking ${actorNow()} ${account}`
  const [pending, setPending] = useState(() => stored(key))
  const keep = (booking: PendingBooking): void => {
    sessionStorage.setItem(key, JSON.stringify(booking))
    setPending(booking)
  }
  /** False if the operator has discarded the pending booking on this page after a reload, or has ended the session. */
  const isStored = (): boolean => pending !== undefined && stored(key)?.operationId === pending.operationId
  return {
    pending,
    prepare: (amountUsdMicro, reason) =>
      keep({ actor: actorNow(), operationId: newOperationId(), amountUsdMicro, reason, isSent: false }),
    markSent: (isSent) => {
      if (pending === undefined) return
      if (isStored()) keep({ ...pending, isSent })
      else setPending({ ...pending, isSent })
    },
    forget: () => {
      if (isStored()) sessionStorage.removeItem(key)
      setPending(undefined)
    }
  }
}
