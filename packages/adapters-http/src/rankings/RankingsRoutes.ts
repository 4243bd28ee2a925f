/**
 * Serves the rankings. A document is encoded once, however often it is asked for: as long as its minute lasts the same
 * object comes back, and with it the same bytes.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { readRankings } from "@tollgate/application/rankings/ReadRankings"
import type { Rankings } from "@tollgate/domain/rankings/Rankings"
import * as Effect from "effect/Effect"
import { requestIdOf } from "../http/RequestIds.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { RankingsApi } from "./RankingsApi.ts"
import { toBody } from "./RankingsBody.ts"
import { rankingsErrorBody } from "./RankingsErrors.ts"
import * as Representation from "./Representation.ts"

const encoded = new WeakMap<Rankings, Representation.Representation>()

const representationOf = (rankings: Rankings): Representation.Representation => {
  const known = encoded.get(rankings)
  if (known !== undefined) return known
  const made = Representation.make(JSON.stringify(toBody(rankings)), {
    contentType: "application/json",
    cacheControl: "public, max-age=60"
  })
  encoded.set(rankings, made)
  return made
}

type Given = ReadonlyArray<string> | undefined

/** One that was given twice is none that is known. */
const query = (name: "window" | "modality", given: Given) => (given === undefined ? {} : { [name]: given.join(",") })

const answer = (given: { readonly window?: Given; readonly modality?: Given }) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    Effect.matchEffect(readRankings({ ...query("window", given.window), ...query("modality", given.modality) }), {
      onSuccess: (rankings) => Effect.succeed(Representation.respond(representationOf(rankings), request)),
      onFailure: (failure) => {
        const { status, body } = rankingsErrorBody(failure, requestIdOf(request))
        return Effect.orDie(HttpServerResponse.json(body, { status }))
      }
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(RankingsApi), "rankings", (handlers) =>
  handlers.handleRaw("getRankings", ({ urlParams }) => answer(urlParams))
)
