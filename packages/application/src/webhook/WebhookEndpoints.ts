/**
 * Declares the store of endpoints, and the rule for the URLs to which webhooks may be sent.
 */
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { ValidationFailed } from "@tollgate/domain/validation/Validation"
import type {
  EndpointChange,
  EndpointSettings,
  TooManyWebhookEndpoints,
  WebhookEndpoint,
  WebhookEndpointId,
  WebhookEndpointNotFound
} from "@tollgate/domain/webhook/WebhookEndpoint"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import type * as Redacted from "effect/Redacted"

/** The reseller whose endpoints a caller sees; `everyone` for an operator, who sees all endpoints. */
export type EndpointScope = ResellerId | "everyone"

export interface EndpointWithSecret {
  readonly endpoint: WebhookEndpoint
  /** The secret that signs the webhooks. It is stored encrypted. Only the call that created the secret returns it. */
  readonly secret: Redacted.Redacted<string>
}

/** The store of endpoints. Each change and its audit log entry are written in one transaction. */
export class WebhookEndpoints extends Context.Tag("@tollgate/application/WebhookEndpoints")<
  WebhookEndpoints,
  {
    /** Creates an endpoint of a reseller, or of the operator if `owner` is undefined. */
    readonly create: (
      owner: ResellerId | undefined,
      settings: EndpointSettings,
      operator: Operator
    ) => Effect.Effect<EndpointWithSecret, TooManyWebhookEndpoints>
    /** Returns the endpoints, oldest first. */
    readonly list: (scope: EndpointScope) => Effect.Effect<ReadonlyArray<WebhookEndpoint>>
    readonly change: (
      scope: EndpointScope,
      id: WebhookEndpointId,
      change: EndpointChange,
      operator: Operator
    ) => Effect.Effect<WebhookEndpoint, WebhookEndpointNotFound>
    /** Creates a new secret. For 24 hours, the previous secret also signs. */
    readonly rotateSecret: (
      scope: EndpointScope,
      id: WebhookEndpointId,
      operator: Operator
    ) => Effect.Effect<EndpointWithSecret, WebhookEndpointNotFound>
    /** Deletes an endpoint with its deliveries. */
    readonly remove: (
      scope: EndpointScope,
      id: WebhookEndpointId,
      operator: Operator
    ) => Effect.Effect<void, WebhookEndpointNotFound>
  }
>() {}

/** Decides which URLs webhooks may be sent to, before a host name is resolved. */
export class WebhookTargets extends Context.Tag("@tollgate/application/WebhookTargets")<
  WebhookTargets,
  {
    /** Returns the URL in its normal form. Fails if the text is not a URL to which webhooks may be sent. */
    readonly check: (url: string) => Either.Either<string, ValidationFailed>
  }
>() {}
