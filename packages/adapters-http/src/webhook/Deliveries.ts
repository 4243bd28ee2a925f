/**
 * Lists the deliveries of webhooks to a reseller's endpoints, and replays a delivery
 * (docs/reference/webhooks.md#deliveries).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import { Attempts } from "@tollgate/application/reseller/ResellerAccess"
import {
  type DeliveriesQuery,
  listOwnDeliveries,
  replayOwnDelivery
} from "@tollgate/application/webhook/ResellerWebhooks"
import { WebhookDeliveries } from "@tollgate/application/webhook/WebhookDeliveries"
import { CallFailure, DeliveryStatus, type WebhookDelivery } from "@tollgate/domain/webhook/WebhookDelivery"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { forReseller, resellerServices } from "../auth/ResellerCaller.ts"
import { withOnly } from "../http/RouteServices.ts"
import {
  instant,
  instantOrNull,
  integer,
  orNull,
  type ParametersOf,
  parameter,
  singleValues,
  text,
  timestamp,
  uuid
} from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { cursorParameters, nextCursor } from "../openapi/ListDocs.ts"
import { documented, ResellerError } from "../openapi/ResellerDocs.ts"

const example = {
  delivery_id: "019a9f0e-7777-7d1a-9a41-6f1f0d7b2c11",
  event_id: "019a9f0e-8888-7d1a-9a41-6f1f0d7b2c11",
  endpoint_id: "019a9f0e-6666-7d1a-9a41-6f1f0d7b2c11",
  type: "topup.credited",
  status: "pending" as const,
  attempts: 2,
  created_at: "2026-11-20T09:30:00.000Z",
  last_attempt_at: "2026-11-20T09:30:06.000Z",
  last_status: 503,
  last_failure: null,
  next_attempt_at: "2026-11-20T09:30:27.000Z"
}

export const DeliveryBody = Schema.Struct({
  delivery_id: uuid("The delivery's id.", example.delivery_id),
  event_id: uuid("The event's id, which each attempt sends as `webhook-id`.", example.event_id),
  endpoint_id: uuid("The endpoint's id.", example.endpoint_id),
  type: text("The type of the event.", example.type),
  status: DeliveryStatus.annotations({
    description:
      "`pending`: a further attempt follows. `delivered`: the endpoint responded with a status from 200 to 299. `failed`: no " +
      "attempt succeeded within 24 hours."
  }),
  attempts: integer("The number of attempts since the event or the last replay of the delivery.", example.attempts),
  created_at: timestamp("The time of the event.", example.created_at),
  last_attempt_at: orNull(timestamp("The time of the last attempt; `null` before the first.", example.last_attempt_at)),
  last_status: Schema.NullOr(Schema.Number).annotations({
    jsonSchema: {
      type: ["integer", "null"],
      description: "The HTTP status of the last response; `null` if the last attempt got no response.",
      examples: [example.last_status]
    }
  }),
  last_failure: Schema.NullOr(CallFailure).annotations({
    description: "The reason why the last attempt got no response; `null` if it got a response."
  }),
  next_attempt_at: orNull(
    timestamp("The time of the next attempt; `null` unless the delivery is pending.", example.next_attempt_at)
  )
}).annotations({ identifier: "WebhookDelivery", examples: [example] })

const PageBody = Schema.Struct({
  data: Schema.Array(DeliveryBody).annotations({ description: "The deliveries, newest first." }),
  next_cursor: nextCursor
}).annotations({ identifier: "WebhookDeliveryPage", examples: [{ data: [example], next_cursor: null }] })

const PATH = "/api/reseller/webhooks/deliveries"

const readDeliveries = HttpApiEndpoint.get("listWebhookDeliveries", PATH)
  .setUrlParams(
    Schema.Struct({
      endpoint: parameter({
        type: "string",
        format: "uuid",
        description: "Returns only deliveries to the endpoint with this id.",
        examples: [example.endpoint_id]
      }),
      status: parameter({
        type: "string",
        enum: [...DeliveryStatus.literals],
        description: "Returns only deliveries with this status."
      }),
      ...cursorParameters
    })
  )
  .addSuccess(PageBody)
  .annotateContext(documented({ summary: "List the deliveries of webhooks", errors: ["ValidationFailed"] }))

const replayDelivery = HttpApiEndpoint.post("replayWebhookDelivery", `${PATH}/:deliveryID/replay`)
  .setPath(Schema.Struct({ deliveryID: uuid("The delivery's id.", example.delivery_id) }))
  .addSuccess(DeliveryBody)
  .annotateContext(
    documented({
      summary: "Deliver a webhook again",
      description: "The event keeps its id. The 24 hours of attempts begin again. The request has no body.",
      errors: ["WebhookDeliveryNotFound", "RateLimited"]
    })
  )

export class WebhookDeliveriesApi extends HttpApiGroup.make("webhookDeliveries")
  .add(readDeliveries)
  .add(replayDelivery)
  .addError(ResellerError)
  .annotateContext(
    OpenApi.annotations({
      title: "Reseller: webhooks",
      description: "The URLs to which the service reports events, and the deliveries to them."
    })
  ) {}

export const toDeliveryBody = (delivery: WebhookDelivery): typeof DeliveryBody.Type => {
  const { lastResult } = delivery
  return {
    delivery_id: delivery.id,
    event_id: delivery.event.id,
    endpoint_id: delivery.endpointId,
    type: delivery.event.type,
    status: delivery.status,
    attempts: delivery.attempts,
    created_at: instant(delivery.createdAt),
    last_attempt_at: instantOrNull(delivery.lastAttemptAt),
    last_status: lastResult?._tag === "Responded" ? lastResult.status : null,
    last_failure: lastResult?._tag === "NoResponse" ? lastResult.reason : null,
    next_attempt_at: instantOrNull(delivery.nextAttemptAt)
  }
}

const deliveryPage = (query: ParametersOf<DeliveriesQuery>) =>
  forReseller(({ id }) =>
    Effect.gen(function* () {
      const { items, nextCursor } = yield* listOwnDeliveries(id, yield* singleValues(query))
      const body: typeof PageBody.Type = { data: items.map(toDeliveryBody), next_cursor: nextCursor }
      return body
    })
  )

const replayed = (deliveryId: string) =>
  forReseller(({ id }) => Effect.map(replayOwnDelivery(id, deliveryId), toDeliveryBody))

export const layer = HttpApiBuilder.group(gateway.add(WebhookDeliveriesApi), "webhookDeliveries", (handlers) =>
  handlers
    .handleRaw("listWebhookDeliveries", ({ urlParams }) => deliveryPage(urlParams))
    .handleRaw("replayWebhookDelivery", ({ path: { deliveryID } }) => replayed(deliveryID))
).pipe(withOnly(...resellerServices, Attempts, CursorSealer, WebhookDeliveries))
