/**
 * An endpoint is the URL to which Tollgate sends webhooks, with the events and thresholds that its owner chooses. The
 * owner is a reseller or the operator (docs/reference/webhooks.md#endpoints).
 */
import * as Schema from "effect/Schema"
import type { ResellerId } from "../reseller/Reseller.ts"
import { listWithin } from "../validation/Validation.ts"
import { WebhookEventType } from "./WebhookEvent.ts"

export const WebhookEndpointId = Schema.UUID.pipe(Schema.brand("WebhookEndpointId"))
export type WebhookEndpointId = typeof WebhookEndpointId.Type

export const MAX_ENDPOINTS = 10
export const MAX_URL_LENGTH = 2_000
/** The largest threshold: 1,000,000 USD in micro-USD, so that every threshold in pico-USD fits a 64-bit integer. */
export const MAX_THRESHOLD = 1_000_000_000_000

/** The time for which the previous secret of an endpoint also signs after a rotation. */
export const PREVIOUS_SECRET_HOURS = 24

/** The thresholds of `balance.low`. A balance without a threshold causes no `balance.low`. */
export interface BalanceThresholds {
  readonly quotaUsdMicro: bigint | undefined
  readonly paygUsdMicro: bigint | undefined
  readonly planTokens: bigint | undefined
}

/** The part of an endpoint that its owner chooses. */
export interface EndpointSettings {
  readonly url: string
  readonly events: ReadonlyArray<WebhookEventType>
  readonly thresholds: BalanceThresholds
  /** A disabled endpoint gets no new deliveries, and its pending deliveries are not attempted. */
  readonly enabled: boolean
}

export interface WebhookEndpoint extends EndpointSettings {
  readonly id: WebhookEndpointId
  /** Undefined for an endpoint of the operator. */
  readonly resellerId: ResellerId | undefined
  readonly createdAt: Date
  /** The time until which the previous secret also signs; undefined if there is no previous secret. */
  readonly previousSecretUntil: Date | undefined
}

/** The endpoint does not exist, or belongs to another reseller. */
export class WebhookEndpointNotFound extends Schema.TaggedError<WebhookEndpointNotFound>()(
  "WebhookEndpointNotFound",
  {}
) {}

/** The owner already has the maximum number of endpoints. */
export class TooManyWebhookEndpoints extends Schema.TaggedError<TooManyWebhookEndpoints>()("TooManyWebhookEndpoints", {
  max: Schema.Int
}) {}

/** Returns whether the text is a URL that can be stored. Special characters are stored escaped, so the URL can grow. */
const isStorable = (text: string): boolean =>
  text.length <= MAX_URL_LENGTH && URL.canParse(text) && new URL(text).href.length <= MAX_URL_LENGTH

const Url = Schema.String.pipe(Schema.filter((text) => (!/\s/.test(text) && isStorable(text)) || "an https URL"))

const EVENTS_FORM = "one or more event types, each only once"
const Events = listWithin(WebhookEventType, 1, WebhookEventType.literals.length, EVENTS_FORM).pipe(
  Schema.filter((events) => new Set(events).size === events.length || EVENTS_FORM)
)

const Threshold = Schema.optional(
  Schema.NullOr(
    Schema.Number.pipe(
      Schema.filter(
        (n) => (Number.isInteger(n) && n >= 1 && n <= MAX_THRESHOLD) || `a whole number from 1 to ${MAX_THRESHOLD}`
      )
    )
  )
)

/** A change of thresholds. An absent member leaves a threshold unchanged, and null removes it. */
export const ThresholdsChange = Schema.Struct({
  quota_usd_micro: Threshold,
  payg_usd_micro: Threshold,
  plan_tokens: Threshold
}).annotations({ parseOptions: { onExcessProperty: "error" } })

/** The request body that creates an endpoint. */
export const EndpointRequest = Schema.Struct({
  url: Url,
  events: Events,
  thresholds: Schema.optionalWith(ThresholdsChange, { exact: true })
})
export type EndpointRequest = typeof EndpointRequest.Type

/** The request body that changes an endpoint. An absent member leaves this part of the endpoint unchanged. */
export const EndpointChange = Schema.Struct({
  url: Schema.optional(Url),
  events: Schema.optional(Events),
  thresholds: Schema.optionalWith(ThresholdsChange, { exact: true }),
  enabled: Schema.optional(Schema.Boolean)
})
export type EndpointChange = typeof EndpointChange.Type

const noThresholds: BalanceThresholds = { quotaUsdMicro: undefined, paygUsdMicro: undefined, planTokens: undefined }

export const newEndpoint = ({ url, events, thresholds = {} }: EndpointRequest): EndpointSettings => ({
  url,
  events,
  thresholds: changeThresholds(noThresholds, thresholds),
  enabled: true
})

export const changeEndpoint = (before: EndpointSettings, change: EndpointChange): EndpointSettings => ({
  url: change.url ?? before.url,
  events: change.events ?? before.events,
  thresholds: changeThresholds(before.thresholds, change.thresholds ?? {}),
  enabled: change.enabled ?? before.enabled
})

const changeThresholds = (before: BalanceThresholds, change: typeof ThresholdsChange.Type): BalanceThresholds => ({
  quotaUsdMicro: changed(before.quotaUsdMicro, change.quota_usd_micro),
  paygUsdMicro: changed(before.paygUsdMicro, change.payg_usd_micro),
  planTokens: changed(before.planTokens, change.plan_tokens)
})

const changed = (before: bigint | undefined, value: number | null | undefined): bigint | undefined =>
  value === undefined ? before : value === null ? undefined : BigInt(value)
