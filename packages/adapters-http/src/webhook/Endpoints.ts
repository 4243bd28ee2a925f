/**
 * Creates, lists, changes, tests and deletes the webhook endpoints of a reseller, and replaces their secrets
 * (docs/reference/webhooks.md#endpoints).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Attempts } from "@tollgate/application/reseller/ResellerAccess"
import * as useCases from "@tollgate/application/webhook/ResellerWebhooks"
import { WebhookDeliveries } from "@tollgate/application/webhook/WebhookDeliveries"
import {
  type EndpointWithSecret,
  WebhookEndpoints,
  WebhookTargets
} from "@tollgate/application/webhook/WebhookEndpoints"
import {
  EndpointChange,
  EndpointRequest,
  MAX_THRESHOLD,
  type ThresholdsChange,
  type WebhookEndpoint
} from "@tollgate/domain/webhook/WebhookEndpoint"
import { WebhookEventType } from "@tollgate/domain/webhook/WebhookEvent"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { forReseller, resellerServices } from "../auth/ResellerCaller.ts"
import { withOnly } from "../http/RouteServices.ts"
import { SmallBodies } from "../http/SmallBodies.ts"
import {
  instant,
  instantOrNull,
  type MembersOf,
  orNull,
  text,
  timestamp,
  unknownMembers,
  uuid,
  wholeNumber
} from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { bodyErrors, documented, ResellerError } from "../openapi/ResellerDocs.ts"
import { jsonBody } from "../reseller/JsonBody.ts"
import { DeliveryBody, toDeliveryBody } from "./Deliveries.ts"

const ID = "019a9f0e-6666-7d1a-9a41-6f1f0d7b2c11"
const URL_EXAMPLE = "https://hooks.example.com/tollgate"
const AT = "2026-11-20T09:30:00.000Z"

const threshold = (description: string, example: number) =>
  Schema.NullOr(Schema.Number).annotations({
    jsonSchema: { type: ["integer", "null"], minimum: 1, maximum: MAX_THRESHOLD, description, examples: [example] }
  })

const thresholds = {
  quota_usd_micro: threshold(
    "The threshold of the reseller's quota, in micro-USD; `null` if the quota has no threshold.",
    10_000_000
  ),
  payg_usd_micro: threshold(
    "The threshold of each customer's pay-as-you-go balance, in micro-USD; `null` if these balances have no threshold.",
    1_000_000
  ),
  plan_tokens: threshold(
    "The threshold of each token plan of a customer, in tokens; `null` if plans have no threshold.",
    100_000
  )
} satisfies MembersOf<typeof ThresholdsChange>

const exampleThresholds = { quota_usd_micro: 10_000_000, payg_usd_micro: null, plan_tokens: null }

const ThresholdsBody = Schema.Struct(thresholds).annotations({
  identifier: "WebhookThresholds",
  description: "The event `balance.low` is sent when a balance falls below its threshold.",
  examples: [exampleThresholds]
})

const ThresholdsChangeBody = Schema.partial(Schema.Struct(thresholds)).annotations({
  identifier: "WebhookThresholdsChange",
  description: "An absent member leaves the threshold unchanged, and `null` removes it.",
  examples: [{ quota_usd_micro: 10_000_000 }]
})

const url = text("The URL that receives the webhooks.", URL_EXAMPLE)
const events = Schema.Array(WebhookEventType).pipe(
  Schema.minItems(1, { description: "The events that the endpoint receives: at least one, and each only once." })
)
const enabled = Schema.Boolean.annotations({
  description: "False if the endpoint is disabled: it gets no new events, and its pending deliveries wait."
})

const RequestBody = Schema.Struct(
  { url, events, thresholds: Schema.optional(ThresholdsChangeBody) } satisfies MembersOf<typeof EndpointRequest>,
  unknownMembers
).annotations({
  identifier: "WebhookEndpointRequest",
  examples: [
    { url: URL_EXAMPLE, events: ["topup.credited", "balance.low"], thresholds: { quota_usd_micro: 10_000_000 } }
  ]
})

const ChangeBody = Schema.Struct(
  {
    url: Schema.optional(url),
    events: Schema.optional(events),
    thresholds: Schema.optional(ThresholdsChangeBody),
    enabled: Schema.optional(enabled)
  } satisfies MembersOf<typeof EndpointChange>,
  unknownMembers
).annotations({ identifier: "WebhookEndpointChange", examples: [{ enabled: false }] })

const members = {
  endpoint_id: uuid("The endpoint's id.", ID),
  url,
  events,
  thresholds: ThresholdsBody,
  enabled,
  created_at: timestamp("The time at which the endpoint was created.", AT),
  previous_secret_until: orNull(
    timestamp("The time until which the previous secret also signs; `null` if no previous secret signs.", AT)
  )
}

const example = {
  endpoint_id: ID,
  url: URL_EXAMPLE,
  events: ["topup.credited" as const, "balance.low" as const],
  thresholds: exampleThresholds,
  enabled: true,
  created_at: AT,
  previous_secret_until: null
}

const EndpointBody = Schema.Struct(members).annotations({ identifier: "WebhookEndpoint", examples: [example] })

const SecretBody = Schema.Struct({
  ...members,
  secret: text(
    "The secret that signs the webhooks. Only this response contains it.",
    "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDb0/Z0TqgSSM="
  )
}).annotations({
  identifier: "WebhookEndpointWithSecret",
  examples: [{ ...example, secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDb0/Z0TqgSSM=" }]
})

const ListBody = Schema.Struct({
  endpoints: Schema.Array(EndpointBody).annotations({ description: "The endpoints, oldest first." })
}).annotations({ identifier: "WebhookEndpointList", examples: [{ endpoints: [example] }] })

const RemovedBody = Schema.Struct({
  endpoint_id: uuid("The endpoint's id.", ID),
  deleted: Schema.Literal(true).annotations({ description: "Always true." })
}).annotations({ identifier: "DeletedWebhookEndpoint", examples: [{ endpoint_id: ID, deleted: true }] })

const PATH = "/api/reseller/webhooks/endpoints"
const path = Schema.Struct({ endpointID: uuid("The endpoint's id.", ID) })

const readEndpoints = HttpApiEndpoint.get("listWebhookEndpoints", PATH)
  .addSuccess(ListBody)
  .annotateContext(documented({ summary: "List the webhook endpoints", errors: [] }))

const createEndpoint = HttpApiEndpoint.post("createWebhookEndpoint", PATH)
  .setPayload(RequestBody)
  .addSuccess(SecretBody, { status: 201 })
  .annotateContext(
    documented({
      summary: "Create a webhook endpoint",
      description:
        "The service sends webhooks to the URL. It signs them with the secret in the response, as the Standard " +
        "Webhooks specification defines. The URL must use https, on the port 443 or 8443 of a public host.",
      errors: [...bodyErrors, "TooManyWebhookEndpoints"]
    })
  )

const changeEndpoint = HttpApiEndpoint.patch("changeWebhookEndpoint", `${PATH}/:endpointID`)
  .setPath(path)
  .setPayload(ChangeBody)
  .addSuccess(EndpointBody)
  .annotateContext(
    documented({
      summary: "Change a webhook endpoint",
      description: "An absent member leaves that property of the endpoint unchanged.",
      errors: [...bodyErrors, "WebhookEndpointNotFound"]
    })
  )

const rotateSecret = HttpApiEndpoint.post("rotateWebhookSecret", `${PATH}/:endpointID/secret`)
  .setPath(path)
  .addSuccess(SecretBody, { status: 201 })
  .annotateContext(
    documented({
      summary: "Replace the secret of a webhook endpoint",
      description:
        "For 24 hours, webhooks are signed with the new and with the previous secret. The request has no body.",
      errors: ["WebhookEndpointNotFound"]
    })
  )

const testEndpoint = HttpApiEndpoint.post("testWebhookEndpoint", `${PATH}/:endpointID/test`)
  .setPath(path)
  .addSuccess(DeliveryBody, { status: 201 })
  .annotateContext(
    documented({
      summary: "Send a test event to a webhook endpoint",
      description: "The event has the type `webhook.test`. The request has no body.",
      errors: ["WebhookEndpointNotFound", "RateLimited"]
    })
  )

const removeEndpoint = HttpApiEndpoint.del("deleteWebhookEndpoint", `${PATH}/:endpointID`)
  .setPath(path)
  .addSuccess(RemovedBody)
  .annotateContext(
    documented({ summary: "Delete a webhook endpoint and its deliveries", errors: ["WebhookEndpointNotFound"] })
  )

export class WebhookEndpointsApi extends HttpApiGroup.make("webhookEndpoints")
  .add(readEndpoints)
  .add(createEndpoint)
  .add(changeEndpoint)
  .add(rotateSecret)
  .add(testEndpoint)
  .add(removeEndpoint)
  .addError(ResellerError)
  .annotateContext(
    OpenApi.annotations({
      title: "Reseller: webhooks",
      description: "The endpoints to which the service sends webhooks, and the deliveries of webhooks."
    })
  ) {}

const wholeOrNull = (amount: bigint | undefined) => (amount === undefined ? null : wholeNumber(amount))

const toBody = (endpoint: WebhookEndpoint): typeof EndpointBody.Type => ({
  endpoint_id: endpoint.id,
  url: endpoint.url,
  events: endpoint.events,
  thresholds: {
    quota_usd_micro: wholeOrNull(endpoint.thresholds.quotaUsdMicro),
    payg_usd_micro: wholeOrNull(endpoint.thresholds.paygUsdMicro),
    plan_tokens: wholeOrNull(endpoint.thresholds.planTokens)
  },
  enabled: endpoint.enabled,
  created_at: instant(endpoint.createdAt),
  previous_secret_until: instantOrNull(endpoint.previousSecretUntil)
})

const withSecret = ({ endpoint, secret }: EndpointWithSecret): typeof SecretBody.Type => ({
  ...toBody(endpoint),
  secret: Redacted.value(secret)
})

const listed = forReseller(({ id }) =>
  Effect.map(
    Effect.flatMap(WebhookEndpoints, ({ list }) => list(id)),
    (endpoints): typeof ListBody.Type => ({ endpoints: endpoints.map(toBody) })
  )
)

const created = forReseller(
  ({ id }) =>
    Effect.gen(function* () {
      return withSecret(yield* useCases.createOwnEndpoint(id, yield* jsonBody(EndpointRequest)))
    }),
  201
)

const changed = (endpointId: string) =>
  forReseller(({ id }) =>
    Effect.gen(function* () {
      return toBody(yield* useCases.changeOwnEndpoint(id, endpointId, yield* jsonBody(EndpointChange)))
    })
  )

const rotated = (endpointId: string) =>
  forReseller(({ id }) => Effect.map(useCases.rotateOwnSecret(id, endpointId), withSecret), 201)

const tested = (endpointId: string) =>
  forReseller(({ id }) => Effect.map(useCases.testOwnEndpoint(id, endpointId), toDeliveryBody), 201)

const removed = (endpointId: string) =>
  forReseller(({ id }) =>
    Effect.map(useCases.removeOwnEndpoint(id, endpointId), (endpoint_id): typeof RemovedBody.Type => ({
      endpoint_id,
      deleted: true
    }))
  )

export const layer = HttpApiBuilder.group(gateway.add(WebhookEndpointsApi), "webhookEndpoints", (handlers) =>
  handlers
    .handleRaw("listWebhookEndpoints", () => listed)
    .handleRaw("createWebhookEndpoint", () => created)
    .handleRaw("changeWebhookEndpoint", ({ path: { endpointID } }) => changed(endpointID))
    .handleRaw("rotateWebhookSecret", ({ path: { endpointID } }) => rotated(endpointID))
    .handleRaw("testWebhookEndpoint", ({ path: { endpointID } }) => tested(endpointID))
    .handleRaw("deleteWebhookEndpoint", ({ path: { endpointID } }) => removed(endpointID))
).pipe(withOnly(...resellerServices, Attempts, SmallBodies, WebhookDeliveries, WebhookEndpoints, WebhookTargets))
