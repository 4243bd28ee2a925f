/**
 * Serves `GET /api/rankings`, which returns a rankings document (docs/reference/rankings.md).
 *
 * The application computes the `Rankings` object of a window at most once a minute, and returns this object to all
 * requests of the minute. Therefore each object is encoded and compressed at most once.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import {
  RankingsCache,
  RankingsHistory,
  RankingsPolicy,
  readRankings
} from "@tollgate/application/rankings/ReadRankings"
import type { Rankings } from "@tollgate/domain/rankings/Rankings"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Representation from "../http/Representation.ts"
import { requestIdOf } from "../http/RequestIds.ts"
import { withOnly } from "../http/RouteServices.ts"
import { withErrors } from "../openapi/ErrorDocs.ts"
import { type ParameterValues, parameter } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { RankingsBody, toBody } from "./RankingsBody.ts"
import { documentedErrors, rankingsErrorBody } from "./RankingsErrors.ts"

const HEADERS = {
  "cache-control": {
    required: true,
    schema: { type: "string", const: "public, max-age=60" },
    description: "The rankings are recomputed at most once a minute."
  },
  etag: {
    required: true,
    schema: { type: "string" },
    description:
      "The version of the document. Send it as `If-None-Match` to get 304 without a body while the document is unchanged."
  }
}

interface DocumentedOperation {
  readonly responses: Readonly<Record<string, object>>
}

/** Adds the 304 response, the headers of the 200 response, and the errors to the OpenAPI operation. */
const withResponses = (operation: Record<string, unknown>): Record<string, unknown> => {
  const { responses } = operation as unknown as DocumentedOperation
  return withErrors(documentedErrors)({
    ...operation,
    responses: {
      ...responses,
      200: { ...responses[200], headers: HEADERS },
      304: { description: "The document with the `etag` in `if-none-match` is unchanged.", headers: HEADERS }
    }
  })
}

const getRankings = HttpApiEndpoint.get("getRankings", "/api/rankings")
  .setUrlParams(
    Schema.Struct({
      window: parameter({
        type: "string",
        enum: ["day", "week", "month", "all"],
        default: "week",
        description:
          "`day`: the last 24 hours in hourly buckets. `week` and `month`: the last 7 and 30 days in daily buckets. " +
          "`all`: all usage in weekly buckets that begin on Monday."
      }),
      modality: parameter({
        type: "string",
        enum: ["text"],
        default: "text",
        description: "`text`: text models and embedding models. Image models are not ranked."
      })
    })
  )
  .addSuccess(RankingsBody)
  .annotateContext(
    OpenApi.annotations({
      summary: "Rank models and authors by tokens, growth and speed",
      description:
        "Needs no API key. Counts the input and output tokens of every request to a text or embedding model, including " +
        "failed requests that consumed tokens. Cache reads and health checks do not count. Days begin at midnight in Jakarta (UTC+7). The " +
        "page `/rankings` shows this document.",
      transform: withResponses
    })
  )

export class RankingsApi extends HttpApiGroup.make("rankings")
  .add(getRankings)
  .annotateContext(
    OpenApi.annotations({
      title: "Rankings",
      description: "Public statistics about the use of models."
    })
  ) {}

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

/** Returns a query with this parameter if it is given. A repeated parameter becomes `a,b`, which validation refuses. */
const query = (name: "window" | "modality", values: ParameterValues) =>
  values === undefined ? {} : { [name]: values.join(",") }

const feed = ({ window, modality }: { readonly window?: ParameterValues; readonly modality?: ParameterValues }) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    Effect.matchEffect(readRankings({ ...query("window", window), ...query("modality", modality) }), {
      onSuccess: (rankings) => Effect.succeed(Representation.respond(representationOf(rankings), request)),
      onFailure: (failure) => {
        const { status, headers, body } = rankingsErrorBody(failure, requestIdOf(request))
        return Effect.orDie(HttpServerResponse.json(body, { status, headers }))
      }
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(RankingsApi), "rankings", (handlers) =>
  handlers.handleRaw("getRankings", ({ urlParams }) => feed(urlParams))
).pipe(withOnly(RankingsCache, RankingsHistory, RankingsPolicy))
