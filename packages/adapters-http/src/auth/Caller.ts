/**
 * Who calls, for the routes that are not relayed: the principal of the presented key.
 */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { ApiKeyAuthenticator, type Principal } from "@tollgate/application/inference/ApiKeyAuthenticator"
import type { InvalidApiKey, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Effect from "effect/Effect"
import { presentedKey } from "./PresentedKey.ts"

export const caller: Effect.Effect<
  Principal,
  InvalidApiKey | Overloaded,
  ApiKeyAuthenticator | HttpServerRequest.HttpServerRequest
> = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const presented = yield* presentedKey(NodeHttpServerRequest.toIncomingMessage(request).rawHeaders)
  return yield* (yield* ApiKeyAuthenticator).authenticate(presented)
})
