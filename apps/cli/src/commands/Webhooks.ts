/**
 * Defines `tollgate webhooks`, which shows the deliveries of webhooks, replays a delivery and contains the group
 * `endpoints`.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { deliveryIdOf } from "@tollgate/application/webhook/ResellerWebhooks"
import { WebhookDeliveries } from "@tollgate/application/webhook/WebhookDeliveries"
import { DeliveryStatus, type WebhookDelivery, WebhookDeliveryId } from "@tollgate/domain/webhook/WebhookDelivery"
import { bodyOf } from "@tollgate/domain/webhook/WebhookEvent"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { encode, type Report, timestamp } from "../terminal/Output.ts"
import { namedValues, table } from "../terminal/Table.ts"
import { reportCommand } from "./ReportCommand.ts"
import { argument, limit, oneOf, operatorFor, option, reason, resellerOption } from "./SharedOptions.ts"
import { EndpointId, scopeOf } from "./WebhookEndpoints.ts"

const DeliveryId = WebhookDeliveryId.annotations({ message: () => "the UUID of a delivery" })
const delivery = argument("delivery-id", DeliveryId, "The delivery's id, as shown by: tollgate webhooks list")

const list = reportCommand(
  "list",
  "List deliveries of webhooks, newest first.",
  {
    endpoint: Options.optional(
      option("endpoint", "ID", EndpointId, "List only deliveries to the endpoint with this id.")
    ),
    status: Options.optional(oneOf("status", DeliveryStatus.literals, "List only deliveries with this status.")),
    reseller: Options.optional(resellerOption),
    limit
  },
  ({ endpoint, limit, reseller, status }) =>
    Effect.gen(function* () {
      const scope = yield* scopeOf(reseller)
      const { page } = yield* WebhookDeliveries
      const filter = { endpointId: Option.getOrUndefined(endpoint), status: Option.getOrUndefined(status) }
      const found = yield* page(scope, filter, { limit, after: undefined })
      return {
        document: found.map(deliveryDocument),
        text: found.length === 0 ? "No deliveries found." : deliveriesTable(found)
      } satisfies Report
    })
)

const show = reportCommand("show", "Show a delivery and the body of its webhook.", { delivery }, ({ delivery }) =>
  Effect.gen(function* () {
    const found = yield* (yield* WebhookDeliveries).find("everyone", delivery)
    const body = JSON.parse(bodyOf(found.event))
    return {
      document: { ...deliveryDocument(found), body },
      text: [deliveryFacts(found), encode(body)].join("\n\n")
    } satisfies Report
  })
)

const replay = reportCommand(
  "replay",
  "Deliver a webhook again, with the same event id.",
  { delivery, reason: Options.optional(reason) },
  ({ delivery, reason }) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("webhooks replay", reason)
      const id = yield* deliveryIdOf(delivery)
      const replayed = yield* (yield* WebhookDeliveries).replay("everyone", id, operator)
      return {
        document: deliveryDocument(replayed),
        text: `The delivery of event ${replayed.event.id} to ${replayed.url} is due. A running server sends the webhook within seconds, unless the endpoint is disabled or its reseller is not active.`
      } satisfies Report
    })
)

/** Defines `tollgate webhooks` with the commands of the group `endpoints`. */
export const webhooks = <Name extends string, R, E, A>(endpoints: Command.Command<Name, R, E, A>) =>
  Command.make("webhooks").pipe(
    Command.withDescription("Show and replay the deliveries of webhooks, and manage their endpoints."),
    Command.withSubcommands([list, show, replay, endpoints])
  )

const timestampOrNull = (time: Date | undefined) => (time === undefined ? null : timestamp(time))

const resultOf = ({ lastResult }: WebhookDelivery): string =>
  lastResult === undefined ? "-" : lastResult._tag === "Responded" ? `${lastResult.status}` : lastResult.reason

const deliveryDocument = (delivery: WebhookDelivery) => ({
  delivery_id: delivery.id,
  event_id: delivery.event.id,
  endpoint_id: delivery.endpointId,
  reseller_id: delivery.resellerId ?? null,
  url: delivery.url,
  type: delivery.event.type,
  status: delivery.status,
  attempts: delivery.attempts,
  created_at: timestamp(delivery.createdAt),
  last_attempt_at: timestampOrNull(delivery.lastAttemptAt),
  last_status: delivery.lastResult?._tag === "Responded" ? delivery.lastResult.status : null,
  last_failure: delivery.lastResult?._tag === "NoResponse" ? delivery.lastResult.reason : null,
  next_attempt_at: timestampOrNull(delivery.nextAttemptAt)
})

const deliveriesTable = (deliveries: ReadonlyArray<WebhookDelivery>) =>
  table<WebhookDelivery>(
    [
      { heading: "delivery", cell: ({ id }) => id },
      { heading: "type", cell: ({ event }) => event.type },
      { heading: "status", cell: ({ status }) => status },
      { heading: "attempts", cell: ({ attempts }) => `${attempts}`, align: "right" },
      { heading: "last result", cell: resultOf },
      { heading: "created", cell: ({ createdAt }) => timestamp(createdAt) },
      { heading: "url", cell: ({ url }) => url }
    ],
    deliveries
  )

const deliveryFacts = (delivery: WebhookDelivery) =>
  namedValues([
    ["delivery", delivery.id],
    ["event", `${delivery.event.id} (${delivery.event.type})`],
    ["endpoint", `${delivery.endpointId} (${delivery.url})`],
    ["status", delivery.status],
    ["attempts", `${delivery.attempts}`],
    ["last attempt", timestampOrNull(delivery.lastAttemptAt) ?? "-"],
    ["last result", resultOf(delivery)],
    ["next attempt", timestampOrNull(delivery.nextAttemptAt) ?? "-"]
  ])
