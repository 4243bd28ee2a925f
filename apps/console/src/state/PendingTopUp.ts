/**
 * Stores the top-up that the reseller is creating until its result is known or the reseller sends a different request.
 *
 * The operation id is chosen before the first request, and every repeat of the same order sends the same id. The top-up
 * is stored in `sessionStorage`, so a reload of the page after a lost response does not lose the operation id.
 */
import type { components } from "../../dist/types/GatewayApi.d.ts"
import { newOperationId } from "./OperationId.ts"
import { sessionReseller, storedOperation } from "./StoredOperation.ts"

export type TopUpRequest = Pick<
  components["schemas"]["TopUpRequest"],
  "method" | "amount_idr" | "amount_usd_micro" | "token_kind"
>

export interface PendingTopUp {
  readonly resellerId: string
  readonly operationId: string
  readonly request: TopUpRequest
}

const STORED_AS = "tollgate.topup"

/** Returns the top-up whose result is unknown, if the reseller of the session requested it. */
export const pendingTopUp = (): PendingTopUp | undefined => {
  const stored = storedOperation<PendingTopUp>(STORED_AS)
  return stored?.resellerId === sessionReseller() ? stored : undefined
}

/**
 * Returns the operation id for this request: the id of the pending top-up if the request is the same, otherwise a new
 * id.
 */
export const prepareTopUp = (request: TopUpRequest): string => {
  const pending = pendingTopUp()
  if (pending !== undefined && JSON.stringify(pending.request) === JSON.stringify(request)) return pending.operationId
  const operationId = newOperationId()
  const topUp: PendingTopUp = { resellerId: sessionReseller() ?? "", operationId, request }
  sessionStorage.setItem(STORED_AS, JSON.stringify(topUp))
  return operationId
}

/** Deletes the pending top-up, unless a later request has replaced it. */
export const forgetTopUp = (operationId: string): void => {
  if (pendingTopUp()?.operationId === operationId) sessionStorage.removeItem(STORED_AS)
}
