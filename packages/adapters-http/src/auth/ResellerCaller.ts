/**
 * Authenticates requests to the reseller routes by `Authorization: Bearer <token>`. The case of the word `Bearer` is
 * ignored.
 */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { asReseller, ResellerRequests, TokenSigner } from "@tollgate/application/reseller/ResellerAccess"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import type { Reseller } from "@tollgate/domain/reseller/Reseller"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Stream from "effect/Stream"
import { orResellerError, resellerResponse } from "../http/ApiResponse.ts"
import { CsvResponses } from "../http/CsvResponse.ts"
import type { ResellerFailure } from "../wire/ResellerErrors.ts"

const BEARER = /^bearer +([\w.~+/-]+=*) *$/i
/** Maximum length of the header value in characters. The tokens that this service issues have about 350 characters. */
const MAX_LENGTH = 4_096

/**
 * Returns the token in `rawHeaders`, an array in which header names and values alternate. Returns undefined if the
 * token is missing or malformed, or if the header is too long or repeated with another value. The raw headers are read,
 * because Node.js keeps only the first of several `authorization` headers.
 */
export const bearerToken = (rawHeaders: ReadonlyArray<string>): Redacted.Redacted<string> | undefined => {
  let presented: string | undefined
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== "authorization") continue
    const value = rawHeaders[i + 1] ?? ""
    if (presented !== undefined && presented !== value) return undefined
    presented = value
  }
  const token = presented === undefined || presented.length > MAX_LENGTH ? undefined : BEARER.exec(presented)?.[1]
  return token === undefined ? undefined : Redacted.make(token)
}

/**
 * The services that authenticate a reseller. A route that uses {@link forReseller} or {@link csvForReseller} needs
 * them.
 */
export const resellerServices = [Resellers, TokenSigner, ResellerRequests] as const

/**
 * Authenticates the reseller, then runs `handler` and encodes its result as the response. The token is therefore
 * checked before `handler` reads the request body.
 */
export const forReseller = <A, E extends ResellerFailure, R>(
  handler: (reseller: Reseller) => Effect.Effect<A, E, R>,
  status: 200 | 201 = 200
) =>
  resellerResponse(
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      asReseller(bearerToken(NodeHttpServerRequest.toIncomingMessage(request).rawHeaders), handler)
    ),
    status
  )

/** Authenticates the reseller, then sends the CSV that `handler` returns. */
export const csvForReseller = <E extends ResellerFailure, R>(
  fileName: string,
  handler: (reseller: Reseller) => Effect.Effect<Stream.Stream<string>, E, R>
) =>
  orResellerError(
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      asReseller(bearerToken(NodeHttpServerRequest.toIncomingMessage(request).rawHeaders), (reseller) =>
        Effect.flatMap(CsvResponses, ({ send }) => send(reseller.id, fileName, handler(reseller)))
      )
    )
  )
