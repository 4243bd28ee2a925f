/**
 * The use cases of endpoints and deliveries (docs/reference/webhooks.md). A use case with `Own` in its name is for a
 * reseller.
 */
import type { Operator } from "@tollgate/domain/operations/Operation"
import { webhookWindows } from "@tollgate/domain/reseller/AttemptLimit"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { type CursorQuery, readCursorPage } from "@tollgate/domain/validation/Cursor"
import { invalid, ValidationFailed } from "@tollgate/domain/validation/Validation"
import { DeliveryStatus, WebhookDeliveryId, WebhookDeliveryNotFound } from "@tollgate/domain/webhook/WebhookDelivery"
import {
  type EndpointChange,
  type EndpointRequest,
  newEndpoint,
  WebhookEndpointId,
  WebhookEndpointNotFound
} from "@tollgate/domain/webhook/WebhookEndpoint"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { CursorSealer, listPage } from "../operations/CursorSealer.ts"
import { Attempts } from "../reseller/ResellerAccess.ts"
import { WebhookDeliveries } from "./WebhookDeliveries.ts"
import { type EndpointScope, WebhookEndpoints, WebhookTargets } from "./WebhookEndpoints.ts"

const itself = (resellerId: ResellerId): Operator => ({
  actor: `reseller:${resellerId}`,
  reason: "asked by the reseller"
})

/** Creates an endpoint. Only this call returns the secret of the new endpoint. */
export const createEndpoint = (owner: ResellerId | undefined, request: EndpointRequest, operator: Operator) =>
  Effect.gen(function* () {
    const url = yield* (yield* WebhookTargets).check(request.url)
    return yield* (yield* WebhookEndpoints).create(owner, newEndpoint({ ...request, url }), operator)
  })

export const createOwnEndpoint = (resellerId: ResellerId, request: EndpointRequest) =>
  createEndpoint(resellerId, request, itself(resellerId))

const decodeEndpointId = Schema.decodeOption(WebhookEndpointId)
const decodeDeliveryId = Schema.decodeOption(WebhookDeliveryId)

/**
 * Returns the id of an endpoint in a path or a command. For a malformed id, the error is the same as for an unknown id.
 */
export const endpointIdOf = (text: string) =>
  Either.fromOption(decodeEndpointId(text), () => new WebhookEndpointNotFound())

export const deliveryIdOf = (text: string) =>
  Either.fromOption(decodeDeliveryId(text), () => new WebhookDeliveryNotFound())

export const changeEndpointIn = (scope: EndpointScope, id: string, change: EndpointChange, operator: Operator) =>
  Effect.gen(function* () {
    const endpointId = yield* endpointIdOf(id)
    const url = change.url === undefined ? undefined : yield* (yield* WebhookTargets).check(change.url)
    return yield* (yield* WebhookEndpoints).change(scope, endpointId, { ...change, url }, operator)
  })

export const changeOwnEndpoint = (resellerId: ResellerId, id: string, change: EndpointChange) =>
  changeEndpointIn(resellerId, id, change, itself(resellerId))

export const rotateOwnSecret = (resellerId: ResellerId, id: string) =>
  Effect.gen(function* () {
    const endpointId = yield* endpointIdOf(id)
    return yield* (yield* WebhookEndpoints).rotateSecret(resellerId, endpointId, itself(resellerId))
  })

export const removeOwnEndpoint = (resellerId: ResellerId, id: string) =>
  Effect.gen(function* () {
    const endpointId = yield* endpointIdOf(id)
    yield* (yield* WebhookEndpoints).remove(resellerId, endpointId, itself(resellerId))
    return endpointId
  })

/** Writes a test event for an endpoint. Test events and replays of a reseller share one rate limit. */
export const testOwnEndpoint = (resellerId: ResellerId, id: string) =>
  Effect.gen(function* () {
    const endpointId = yield* endpointIdOf(id)
    yield* (yield* Attempts).count(webhookWindows(resellerId))
    return yield* (yield* WebhookDeliveries).test(resellerId, endpointId, itself(resellerId))
  })

export const replayOwnDelivery = (resellerId: ResellerId, id: string) =>
  Effect.gen(function* () {
    const deliveryId = yield* deliveryIdOf(id)
    yield* (yield* Attempts).count(webhookWindows(resellerId))
    return yield* (yield* WebhookDeliveries).replay(resellerId, deliveryId, itself(resellerId))
  })

export interface DeliveriesQuery extends CursorQuery {
  readonly endpoint?: string | undefined
  readonly status?: string | undefined
}

const isStatus = Schema.is(DeliveryStatus)

/** Returns a page of the deliveries to a reseller's endpoints, newest first. */
export const listOwnDeliveries = (resellerId: ResellerId, query: DeliveriesQuery) =>
  Effect.gen(function* () {
    const { endpoint, status } = query
    const endpointId = endpoint === undefined ? Option.none() : decodeEndpointId(endpoint)
    if (endpoint !== undefined && Option.isNone(endpointId)) return yield* invalid("endpoint", "the id of an endpoint")
    if (status !== undefined && !isStatus(status)) {
      return yield* invalid("status", `one of: ${DeliveryStatus.literals.join(", ")}`)
    }
    const { open } = yield* CursorSealer
    const page = yield* Either.mapLeft(
      readCursorPage("w1", query, open),
      (details) => new ValidationFailed({ details })
    )
    const deliveries = yield* WebhookDeliveries
    return yield* listPage("w1", page, (wanted) =>
      deliveries.page(resellerId, { endpointId: Option.getOrUndefined(endpointId), status }, wanted)
    )
  })
