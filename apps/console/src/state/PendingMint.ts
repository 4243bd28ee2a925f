/**
 * Stores the mint that a reseller is making until its result is known or the reseller discards it.
 *
 * The operation id is chosen once, before the first request. Every repeat sends the same id, so the gateway mints once
 * even if a response was lost (docs/reference/reseller.md#mint-4). The mint is stored in `sessionStorage`, one for each
 * reseller. Therefore neither a reload of the page nor the session of another reseller in the same tab loses its id.
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

// The user deletes the stored mint by ending the session.
$session.listen(() => $stored.set(stored()))

const keep = (mint: PendingMint): void => {
  sessionStorage.setItem(storedAs(mint.resellerId), JSON.stringify(mint))
  $stored.set(mint)
}

export const prepareMint = (email: string, tierId: string): void =>
  keep({ resellerId: sessionReseller(), operationId: newOperationId(), email, tierId, isSent: false })

const isStored = (operationId: string): boolean => $stored.get()?.operationId === operationId

/** Stores whether the mint may already be made, unless the reseller has discarded it. */
export const markSent = (mint: PendingMint, isSent: boolean): void => {
  if (isStored(mint.operationId)) keep({ ...mint, isSent })
}

/** Deletes the mint with this operation id, unless a later mint has replaced it. */
export const forgetMint = (operationId: string): void => {
  if (!isStored(operationId)) return
  sessionStorage.removeItem(storedAs(sessionReseller()))
  $stored.set(undefined)
}
