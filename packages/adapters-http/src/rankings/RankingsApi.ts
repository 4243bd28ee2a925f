/**
 * The public rankings: which models and authors the tokens go to (spec: Rankings).
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { parameter } from "../openapi/Fields.ts"
import { RankingsBody } from "./RankingsBody.ts"
import { documentedRows, rankingsErrorBody } from "./RankingsErrors.ts"

const EXAMPLE_ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"

const RankingsError = Schema.Struct({
  error: Schema.Struct({
    code: Schema.String.annotations({ description: "What went wrong; for programs." }),
    message: Schema.String.annotations({ description: "What went wrong, and what to do; for people." }),
    request_id: Schema.String.annotations({ description: "The id of the request, as in `x-request-id`." })
  })
}).annotations({
  identifier: "RankingsError",
  ...HttpApiSchema.annotations({ status: 500 })
})

const HEADERS = {
  "Cache-Control": {
    schema: { type: "string", const: "public, max-age=60" },
    description: "A new count every minute."
  },
  ETag: { schema: { type: "string" }, description: "Sent back in `If-None-Match`, it saves the body: 304." }
}

interface Documented {
  readonly responses: Readonly<Record<string, object>>
}

/** Every refusal with an example of it, and the headers of the document. */
const withExamples = (operation: Record<string, unknown>): Record<string, unknown> => {
  const { responses } = operation as unknown as Documented
  const refusals = documentedRows.map(({ status, code, meaning, example }) => [
    status,
    {
      description: `\`${code}\`: ${meaning}`,
      content: {
        "application/json": {
          schema: { $ref: "#/components/schemas/RankingsError" },
          examples: { [code]: { summary: meaning, value: rankingsErrorBody(example, EXAMPLE_ID).body } }
        }
      }
    }
  ])
  return {
    ...operation,
    responses: { ...responses, 200: { ...responses[200], headers: HEADERS }, ...Object.fromEntries(refusals) }
  }
}

const getRankings = HttpApiEndpoint.get("getRankings", "/api/rankings")
  .setUrlParams(
    Schema.Struct({
      window: parameter({
        type: "string",
        enum: ["day", "week", "month", "all"],
        default: "week",
        description:
          "The last 24 hours by the hour, 7 days by the day, 30 days by the day, or everything by the week from Monday."
      }),
      modality: parameter({
        type: "string",
        enum: ["text"],
        default: "text",
        description: "Image models are not ranked."
      })
    })
  )
  .addSuccess(RankingsBody)
  .addError(RankingsError)
  .annotateContext(
    OpenApi.annotations({
      summary: "Tokens by model and author, what is rising, and what is fastest",
      description:
        "Public. Counted are input and output tokens of every text request, failed ones that consumed tokens included; " +
        "cache reads and health checks are not. Days are days in Jakarta (UTC+7). There is a page of it at `/rankings`.",
      transform: withExamples
    })
  )

export class RankingsApi extends HttpApiGroup.make("rankings").add(getRankings) {}
