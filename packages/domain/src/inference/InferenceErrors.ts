/**
 * How an inference request can be refused or fail. What each looks like on the wire is decided per protocol, in
 * one table each; no status or code stands here.
 */
import * as Schema from "effect/Schema"

/** The body is not what the protocol asks for. `param` names the member at fault. */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  message: Schema.String,
  param: Schema.NullOr(Schema.String)
}) {}

/** The key is missing, wrong, revoked, or sent twice with different values. */
export class InvalidApiKey extends Schema.TaggedError<InvalidApiKey>()("InvalidApiKey", {
  reason: Schema.Literal("missing", "conflicting", "unknown")
}) {}

/** No model of this name can be called with this protocol: unknown, hidden, retired, or without a route. */
export class ModelNotFound extends Schema.TaggedError<ModelNotFound>()("ModelNotFound", {
  model: Schema.String
}) {}

/** The body is larger than the surface, or the model behind it, takes. Of a supplier's limit the size is not known. */
export class RequestTooLarge extends Schema.TaggedError<RequestTooLarge>()("RequestTooLarge", {
  limitBytes: Schema.NullOr(Schema.Number)
}) {}

/** The supplier declined the request as such; its words, cleaned of names, are passed on. */
export class UpstreamRejected extends Schema.TaggedError<UpstreamRejected>()("UpstreamRejected", {
  message: Schema.String,
  param: Schema.NullOr(Schema.String)
}) {}

/** The supplier is limiting us. Not a limit of this service. */
export class TechnicalLimit extends Schema.TaggedError<TechnicalLimit>()("TechnicalLimit", {
  retryAfterSeconds: Schema.Number
}) {}

/** The supplier failed: refused, timed out, was cut, or answered with something that is no answer. */
export class UpstreamFailed extends Schema.TaggedError<UpstreamFailed>()("UpstreamFailed", {
  /** For the log only; never shown. */
  cause: Schema.String
}) {}

/** We are full, draining, or cannot reach the database: nothing was sent anywhere. */
export class Overloaded extends Schema.TaggedError<Overloaded>()("Overloaded", {
  retryAfterSeconds: Schema.Number
}) {}

/** Every supplier that could serve the model is being left alone after failures. */
export class CircuitOpen extends Schema.TaggedError<CircuitOpen>()("CircuitOpen", {
  retryAfterSeconds: Schema.Number
}) {}
