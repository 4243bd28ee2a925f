/**
 * Stores the top-up that a reseller is creating until its result is known or the reseller sends a different request.
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

const storedAs = (resellerId: string): string => `tollgate.topup ${resellerId}`

/** Returns the top-up whose result is unknown, if the reseller of the session requested one. */
export const pendingTopUp = (): PendingTopUp | undefined => storedOperation(storedAs(sessionReseller()))

interface PreparedTopUp {
  readonly topUp: PendingTopUp
  /** True if an earlier request may have created the order. */
  readonly isRepeat: boolean
}

/**
 * Stores a top-up with this request. `unknown` is the top-up whose result the page shows as unknown. If `unknown` or
 * the stored top-up has the same request, its operation id is used again. The top-up that the page shows can be missing
 * in the storage: a late response to its first request deletes it there.
 */
export const prepareTopUp = (request: TopUpRequest, unknown: PendingTopUp | undefined): PreparedTopUp => {
  const isSame = (earlier: PendingTopUp | undefined) =>
    earlier !== undefined && JSON.stringify(earlier.request) === JSON.stringify(request)
  const earlier = [unknown, pendingTopUp()].find(isSame)
  const topUp = earlier ?? { resellerId: sessionReseller(), operationId: newOperationId(), request }
  sessionStorage.setItem(storedAs(topUp.resellerId), JSON.stringify(topUp))
  return { topUp, isRepeat: earlier !== undefined }
}

/** Deletes a stored top-up, unless a later request has replaced it. */
export const forgetTopUp = ({ resellerId, operationId }: PendingTopUp): void => {
  const name = storedAs(resellerId)
  if (storedOperation<PendingTopUp>(name)?.operationId === operationId) sessionStorage.removeItem(name)
}
