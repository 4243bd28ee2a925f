/**
 * Stores the mint that the reseller is making until its result is known or the reseller discards it.
 *
 * The operation id is chosen once, before the first request. Every repeat sends the same id, so the gateway mints once
 * even if a response was lost (docs/reference/reseller.md#mint-4). The mint is stored in `sessionStorage`, so a reload
 * of the page during a mint does not lose its id.
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

const STORED_AS = "tollgate.mint"

const $stored = atom(storedOperation<PendingMint>(STORED_AS))

/** The pending mint, if the reseller of the session prepared it. */
export const $pendingMint = computed([$stored, $session], (mint) =>
  mint === undefined || mint.resellerId !== sessionReseller() ? undefined : mint
)

// The user deletes the stored mint by ending the session.
$session.listen(() => $stored.set(storedOperation(STORED_AS)))

const keep = (mint: PendingMint): void => {
  sessionStorage.setItem(STORED_AS, JSON.stringify(mint))
  $stored.set(mint)
}

export const prepareMint = (email: string, tierId: string): void =>
  keep({ resellerId: sessionReseller() ?? "", operationId: newOperationId(), email, tierId, isSent: false })

const isStored = (operationId: string): boolean => $stored.get()?.operationId === operationId

/** Stores whether the mint may already be made, unless the reseller has discarded it. */
export const markSent = (mint: PendingMint, isSent: boolean): void => {
  if (isStored(mint.operationId)) keep({ ...mint, isSent })
}

/** Deletes the mint with this operation id, unless a later mint has replaced it. */
export const forgetMint = (operationId: string): void => {
  if (!isStored(operationId)) return
  sessionStorage.removeItem(STORED_AS)
  $stored.set(undefined)
}
