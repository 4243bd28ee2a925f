/**
 * How a route of the reseller programme answers: with JSON, or with its failure as the table of errors has it.
 */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { authenticate } from "@tollgate/application/reseller/Authenticate"
import type { Reseller } from "@tollgate/domain/reseller/Reseller"
import type { InvalidCredentials } from "@tollgate/domain/reseller/ResellerErrors"
import * as Effect from "effect/Effect"
import { bearerToken } from "../auth/BearerToken.ts"
import { requestIdOf } from "../http/RequestIds.ts"
import { type ResellerFailure, refusalOf } from "./ResellerErrors.ts"

export const answered = <A, E extends ResellerFailure, R>(answer: Effect.Effect<A, E, R>, status: 200 | 201 = 200) =>
  orRefused(Effect.flatMap(answer, (body) => Effect.orDie(HttpServerResponse.json(body, { status }))))

/** For answers that are no JSON. */
export const orRefused = <E extends ResellerFailure, R>(
  answer: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R | HttpServerRequest.HttpServerRequest> =>
  Effect.catchAll(answer, (failure) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const { status, headers, body } = refusalOf(failure, requestIdOf(request))
      return Effect.orDie(HttpServerResponse.json(body, { status, headers }))
    })
  )

/** Whose token the request carries. */
const caller = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  return yield* authenticate(bearerToken(NodeHttpServerRequest.toIncomingMessage(request).rawHeaders))
})

/** Answers a reseller; who it is comes before anything else the request says. */
export const forReseller = <A, E extends ResellerFailure, R>(
  answer: (reseller: Reseller) => Effect.Effect<A, E, R>,
  status: 200 | 201 = 200
) =>
  answered<A, E | InvalidCredentials, R | Effect.Effect.Context<typeof caller>>(Effect.flatMap(caller, answer), status)
