/**
 * Stores the mint that a reseller is making until its result is known or the reseller discards it.
 *
 * The operation id is chosen once, before the first request. Every repeat sends the same id, so the gateway mints once
 * even if a response was lost (docs/reference/reseller.md#mint-4). The mint is stored in `sessionStorage`, one for each
 * reseller. Therefore its id survives a reload of the page, the expiry of the session, and the session of another
 * reseller in the same tab until that reseller logs out.
 */
import { atom, computed } from "nanostores"
import { newOperationId } from "./OperationId.ts"
import { $session } from "./Session.ts"
import { sessionReseller, storedOperation } from "./StoredOperation.ts"

export interface PendingMint {
  readonly resellerId: string
  readonly operationId: string
  readonly email: string
  readonly tierId: string
  /** True if the mint may already be made: from a request on, until a response proves that no request made it. */
  readonly isSent: boolean
}

const storedAs = (resellerId: string): string => `tollgate.mint ${resellerId}`

const stored = (): PendingMint | undefined => storedOperation(storedAs(sessionReseller()))

const $stored = atom(stored())

/** The pending mint of the reseller of the session. */
export const $pendingMint = computed([$stored, $session], (mint) =>
  mint === undefined || mint.resellerId !== sessionReseller() ? undefined : mint
)

// The end of a session by the user deletes all stored mints. A new session can belong to another reseller.
$session.listen(() => $stored.set(stored()))

const keep = (mint: PendingMint): void => {
  sessionStorage.setItem(storedAs(mint.resellerId), JSON.stringify(mint))
  $stored.set(stored())
}

export const prepareMint = (email: string, tierId: string): void =>
  keep({ resellerId: sessionReseller(), operationId: newOperationId(), email, tierId, isSent: false })

// The session of the mint can have expired, and another reseller can have logged in, before a response arrives.
const isStored = ({ resellerId, operationId }: PendingMint): boolean =>
  storedOperation<PendingMint>(storedAs(resellerId))?.operationId === operationId

/** Stores whether the mint may already be made, unless it was deleted or a later mint has replaced it. */
export const markSent = (mint: PendingMint, isSent: boolean): void => {
  if (isStored(mint)) keep({ ...mint, isSent })
}

/** Deletes the mint, unless a later mint has replaced it. */
export const forgetMint = (mint: PendingMint): void => {
  if (!isStored(mint)) return
  sessionStorage.removeItem(storedAs(mint.resellerId))
  $stored.set(stored())
}
