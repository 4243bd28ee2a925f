/**
 * Defines `tollgate webhooks endpoints`, which manages the endpoints of the operator and of resellers.
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { changeEndpointIn, createEndpoint } from "@tollgate/application/webhook/ResellerWebhooks"
import { WebhookDeliveries } from "@tollgate/application/webhook/WebhookDeliveries"
import { type EndpointScope, WebhookEndpoints } from "@tollgate/application/webhook/WebhookEndpoints"
import { type ValidationFailed, validationFailed } from "@tollgate/domain/validation/Validation"
import {
  EndpointChange,
  EndpointRequest,
  type WebhookEndpoint,
  WebhookEndpointId
} from "@tollgate/domain/webhook/WebhookEndpoint"
import { WebhookEventType } from "@tollgate/domain/webhook/WebhookEvent"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { CommandFailed } from "../exit/CommandFailed.ts"
import { requireKeyPepper } from "../runtime/Settings.ts"
import { count, type Report, timestamp } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { confirm, yes } from "./Confirmation.ts"
import { reportCommand } from "./ReportCommand.ts"
import { argument, oneOf, operatorFor, reason, resellerOption } from "./SharedOptions.ts"

export const EndpointId = WebhookEndpointId.annotations({ message: () => "the UUID of an endpoint" })
const id = argument("endpoint-id", EndpointId, "The endpoint's id, as shown by: tollgate webhooks endpoints list")

/** Returns the scope of a reseller, or of all endpoints if no reseller is given. */
export const scopeOf = (reseller: Option.Option<string>) =>
  Effect.gen(function* () {
    if (Option.isNone(reseller)) return "everyone" as EndpointScope
    const { id } = yield* (yield* Resellers).named(reseller.value)
    return id as EndpointScope
  })

const url = Args.text({ name: "url" }).pipe(Args.withDescription("The URL that receives the webhooks."))

const EVENTS = `The events to send, separated by commas: ${WebhookEventType.literals.join(", ")}.`
const events = Options.text("events").pipe(Options.withPseudoName("NAMES"), Options.withDescription(EVENTS))

const threshold = (name: string, balance: string, unit: string) =>
  Options.text(name).pipe(
    Options.withPseudoName("N"),
    Options.withDescription(`Send balance.low when ${balance} falls below N ${unit}. "none" removes the threshold.`),
    Options.optional
  )
const thresholds = {
  quota_usd_micro: threshold("quota-below", "a reseller's quota", "micro-USD"),
  payg_usd_micro: threshold("payg-below", "a customer's pay-as-you-go balance", "micro-USD"),
  plan_tokens: threshold("plan-below", "a customer's token plan", "tokens")
}
const OPTIONS: Readonly<Record<string, string>> = {
  "thresholds.quota_usd_micro": "--quota-below",
  "thresholds.payg_usd_micro": "--payg-below",
  "thresholds.plan_tokens": "--plan-below",
  url: "url"
}

type Given = Readonly<Record<keyof typeof thresholds, Option.Option<string>>>

const thresholdsOf = (given: Given) =>
  Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      Option.isSome(value) ? [[name, value.value === "none" ? null : wholeNumber(value.value)]] : []
    )
  )
const wholeNumber = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : text)

const eventsOf = (text: string) => text.split(",").map((event) => event.trim())

/** Reports an invalid value as a wrong command line. */
const usage = ({ details: [first] }: ValidationFailed) => {
  const path = first?.path ?? ""
  const name = OPTIONS[path] ?? (path.startsWith("events") ? "--events" : path)
  return new CommandFailed({ exit: "usage", code: "usage", message: `${name}: expected ${first?.message}` })
}

const decode = <A, I>(schema: Schema.Schema<A, I>, input: unknown) =>
  Effect.mapError(Schema.decodeUnknown(schema, { errors: "all" })(input), (error) => usage(validationFailed(error)))

const create = reportCommand(
  "create",
  "Create an endpoint of the operator or of a reseller. An endpoint of the operator receives the events of all resellers and customers. The secret is printed once.",
  { url, events, reseller: Options.optional(resellerOption), thresholds, reason: Options.optional(reason) },
  (given) =>
    Effect.gen(function* () {
      yield* requireKeyPepper
      const scope = yield* scopeOf(given.reseller)
      const owner = scope === "everyone" ? undefined : scope
      const input = { url: given.url, events: eventsOf(given.events), thresholds: thresholdsOf(given.thresholds) }
      const request = yield* decode(EndpointRequest, input)
      const operator = yield* operatorFor("webhooks endpoints create", given.reason)
      const { endpoint, secret } = yield* createEndpoint(owner, request, operator).pipe(
        Effect.catchTag("ValidationFailed", (invalid) => usage(invalid))
      )
      return secretReport(endpoint, secret, "Created the endpoint")
    })
)

const list = reportCommand(
  "list",
  "List the endpoints of the operator and of all resellers, or of one reseller.",
  { reseller: Options.optional(resellerOption) },
  ({ reseller }) =>
    Effect.gen(function* () {
      const scope = yield* scopeOf(reseller)
      const found = yield* (yield* WebhookEndpoints).list(scope)
      return {
        document: found.map(endpointDocument),
        text: found.length === 0 ? "No endpoints found." : endpointsTable(found)
      } satisfies Report
    })
)

const update = reportCommand(
  "update",
  "Change an endpoint. Settings without an option stay unchanged.",
  {
    id,
    url: Options.text("url").pipe(
      Options.withPseudoName("URL"),
      Options.withDescription("The URL that receives the webhooks."),
      Options.optional
    ),
    events: Options.optional(events),
    enabled: Options.optional(oneOf("enabled", ["on", "off"], "Whether new events are written for the endpoint.")),
    thresholds,
    reason: Options.optional(reason)
  },
  (given) =>
    Effect.gen(function* () {
      const change = yield* decode(EndpointChange, {
        url: Option.getOrUndefined(given.url),
        events: Option.getOrUndefined(Option.map(given.events, eventsOf)),
        enabled: Option.getOrUndefined(Option.map(given.enabled, (word) => word === "on")),
        thresholds: thresholdsOf(given.thresholds)
      })
      const operator = yield* operatorFor("webhooks endpoints update", given.reason)
      const endpoint = yield* changeEndpointIn("everyone", given.id, change, operator).pipe(
        Effect.catchTag("ValidationFailed", (invalid) => usage(invalid))
      )
      return { document: endpointDocument(endpoint), text: endpointsTable([endpoint]) } satisfies Report
    })
)

const rotate = reportCommand(
  "rotate",
  "Replace the secret of an endpoint. For 24 hours, webhooks are signed with both secrets. The new secret is printed once.",
  { id, reason: Options.optional(reason) },
  ({ id, reason }) =>
    Effect.gen(function* () {
      yield* requireKeyPepper
      const operator = yield* operatorFor("webhooks endpoints rotate", reason)
      const { endpoint, secret } = yield* (yield* WebhookEndpoints).rotateSecret("everyone", id, operator)
      return secretReport(endpoint, secret, "Replaced the secret of the endpoint")
    })
)

const test = reportCommand(
  "test",
  "Send a test event to an endpoint.",
  { id, reason: Options.optional(reason) },
  ({ id, reason }) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("webhooks endpoints test", reason)
      const { id: deliveryId, event, url } = yield* (yield* WebhookDeliveries).test("everyone", id, operator)
      return {
        document: { delivery_id: deliveryId, event_id: event.id, endpoint_id: id, url },
        text:
          `A running server sends a test event to ${url}, unless the endpoint is disabled or its reseller is not active. ` +
          `To see the result, run: tollgate webhooks show ${deliveryId}`
      } satisfies Report
    })
)

const remove = reportCommand(
  "delete",
  "Delete an endpoint with its deliveries.",
  { id, reason: Options.optional(reason), yes },
  ({ id, reason, yes }) =>
    Effect.gen(function* () {
      yield* confirm(`Delete the endpoint ${id} with its deliveries?`, yes)
      const operator = yield* operatorFor("webhooks endpoints delete", reason)
      yield* (yield* WebhookEndpoints).remove("everyone", id, operator)
      return { document: { endpoint_id: id, deleted: true }, text: `Deleted the endpoint ${id}.` } satisfies Report
    })
)

export const endpoints = Command.make("endpoints").pipe(
  Command.withDescription("Manage the URLs to which the service sends webhooks."),
  Command.withSubcommands([list, create, update, rotate, test, remove])
)

const amount = (value: bigint | undefined) => (value === undefined ? null : count(value))

const endpointDocument = ({ thresholds, ...endpoint }: WebhookEndpoint) => ({
  endpoint_id: endpoint.id,
  reseller_id: endpoint.resellerId ?? null,
  url: endpoint.url,
  events: endpoint.events,
  thresholds: {
    quota_usd_micro: amount(thresholds.quotaUsdMicro),
    payg_usd_micro: amount(thresholds.paygUsdMicro),
    plan_tokens: amount(thresholds.planTokens)
  },
  enabled: endpoint.enabled,
  created_at: timestamp(endpoint.createdAt),
  previous_secret_until: endpoint.previousSecretUntil === undefined ? null : timestamp(endpoint.previousSecretUntil)
})

const thresholdOf = (value: bigint | undefined) => (value === undefined ? "-" : value.toString())

const endpointsTable = (endpoints: ReadonlyArray<WebhookEndpoint>) =>
  table<WebhookEndpoint>(
    [
      { heading: "endpoint", cell: ({ id }) => id },
      { heading: "owner", cell: ({ resellerId }) => resellerId ?? "operator" },
      { heading: "enabled", cell: ({ enabled }) => (enabled ? "yes" : "no") },
      { heading: "events", cell: ({ events }) => events.join(", ") },
      { heading: "quota below", cell: ({ thresholds }) => thresholdOf(thresholds.quotaUsdMicro), align: "right" },
      { heading: "payg below", cell: ({ thresholds }) => thresholdOf(thresholds.paygUsdMicro), align: "right" },
      { heading: "plan below", cell: ({ thresholds }) => thresholdOf(thresholds.planTokens), align: "right" },
      { heading: "url", cell: ({ url }) => url }
    ],
    endpoints
  )

const secretReport = (endpoint: WebhookEndpoint, secret: Redacted.Redacted<string>, done: string) => {
  const text = Redacted.value(secret)
  return {
    document: { ...endpointDocument(endpoint), secret: text },
    text: [`${done} ${endpoint.id} (${endpoint.url}). The secret is shown once:`, `  ${text}`].join("\n\n")
  } satisfies Report
}
