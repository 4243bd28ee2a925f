/**
 * Authenticates requests to the operator API by `Authorization: Bearer <token of the session>`, and builds their
 * responses.
 *
 * The code of the console adds this header to the requests of a session. A browser adds no credential by itself, so
 * another web page cannot send a request in the name of an operator (docs/adr/0012-operator-session.md).
 */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type { Listed } from "@tollgate/application/operations/CursorSealer"
import {
  asOperator,
  OperatorPolicy,
  OperatorRequests,
  OperatorSessions
} from "@tollgate/application/operator/OperatorSessions"
import { Attempts } from "@tollgate/application/reseller/ResellerAccess"
import type { OperatorSession } from "@tollgate/domain/operator/OperatorSession"
import * as Effect from "effect/Effect"
import { bearerToken } from "../auth/ResellerCaller.ts"
import { refusalResponse } from "../http/Refusal.ts"
import { requestIdOf } from "../http/RequestIds.ts"
import { clientAddress, TrustedProxies } from "../http/TrustedProxies.ts"
import { type ParametersOf, singleValues } from "../openapi/Fields.ts"
import { type OperatorFailure, operatorErrorBody } from "../wire/OperatorErrors.ts"

/** Returns the result of `body` as JSON, or an error in the format of the operator API. */
export const operatorResponse = <A, E extends OperatorFailure, R>(
  body: Effect.Effect<A, E, R>,
  status: 200 | 201 = 200
) =>
  Effect.catchAll(
    Effect.flatMap(body, (value) => Effect.orDie(HttpServerResponse.json(value, { status }))),
    (error) =>
      Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
        const { status, headers, body } = operatorErrorBody(error, requestIdOf(request))
        return refusalResponse({ status, headers, body: JSON.stringify(body) })
      })
  )

/** The services that authenticate an operator. A route that uses {@link forOperator} needs them. */
export const operatorServices = [Attempts, OperatorPolicy, OperatorRequests, OperatorSessions, TrustedProxies] as const

/**
 * Authenticates the operator, then runs `handler` and encodes its result as the response. The token is therefore
 * checked before `handler` reads the request body.
 */
export const forOperator = <A, E extends OperatorFailure, R>(
  handler: (session: OperatorSession) => Effect.Effect<A, E, R>,
  status: 200 | 201 = 200
) =>
  operatorResponse(
    Effect.gen(function* () {
      const request = NodeHttpServerRequest.toIncomingMessage(yield* HttpServerRequest.HttpServerRequest)
      return yield* asOperator(bearerToken(request.rawHeaders), yield* clientAddress, handler)
    }),
    status
  )

/** Returns a page of a list to the operator. `read` gets the query parameters, each with one value. */
export const pageForOperator = <Query, Item, Body, E extends OperatorFailure, R>(
  query: ParametersOf<Query>,
  read: (query: Partial<Record<keyof Query & string, string>>) => Effect.Effect<Listed<Item>, E, R>,
  toBody: (item: Item) => Body
) =>
  forOperator(() =>
    Effect.map(Effect.flatMap(singleValues<keyof Query & string>(query), read), ({ items, nextCursor }) => ({
      data: items.map(toBody),
      next_cursor: nextCursor
    }))
  )
