/**
 * Declares the query parameters and response parts that the lists, daily sums and CSV files of several routes share.
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import { integer, parameter, text } from "./Fields.ts"

const CURSOR = "dTEgMTc2MzYzMTAwMDAwMDAwMCAwMTlhOWYwZQ.Zm9y"

export const cursorParameters = {
  limit: parameter({
    type: "integer",
    minimum: 1,
    maximum: 100,
    default: 50,
    description: "The maximum number of items per page."
  }),
  cursor: parameter({ type: "string", description: "The `next_cursor` of the previous page.", examples: [CURSOR] })
}

const day = (description: string) =>
  parameter({ type: "string", format: "date", description, examples: ["2026-11-20"] })

export const dayParameters = {
  from: day("The first day, a date of the years 2000 to 2999 in the time zone Asia/Jakarta."),
  to: day("The last day, a date of the years 2000 to 2999 in the time zone Asia/Jakarta. The day is included.")
}

const model = parameter({ type: "string", description: "The public name of a model.", examples: ["demo-chat"] })

/** The filter of a customer's own usage. */
export const ownUsageFilter = { ...dayParameters, model }

/** The filter of the usage of a reseller's customers. */
export const usageFilter = {
  ...ownUsageFilter,
  customer: parameter({
    type: "string",
    format: "uuid",
    description: "The id of a customer.",
    examples: ["019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11"]
  })
}

export const nextCursor = Schema.NullOr(Schema.String).annotations({
  jsonSchema: {
    type: ["string", "null"],
    description: "The `cursor` that returns the next page; `null` on the last page.",
    examples: [CURSOR]
  }
})

/** Declares a page of a list. */
export const pageOf = <A, I>(
  item: Schema.Schema<A, I>,
  page: { readonly identifier: string; readonly description: string; readonly example?: A }
) =>
  Schema.Struct({
    data: Schema.Array(item).annotations({ description: page.description }),
    next_cursor: nextCursor
  }).annotations({
    identifier: page.identifier,
    ...(page.example === undefined ? {} : { examples: [{ data: [page.example], next_cursor: null }] })
  })

const exampleDay = { date: "2026-11-20", requests: 12, total_tokens: 34_567, display_cost_usd_micro: "17283.5" }

const date = (description: string) =>
  Schema.String.annotations({ jsonSchema: { type: "string", format: "date", description, examples: ["2026-11-20"] } })

export const DailyUsageBody = Schema.Struct({
  time_zone: Schema.Literal("Asia/Jakarta").annotations({ description: "The time zone of the days." }),
  from: date("The first day of the range."),
  to: date("The last day of the range."),
  days: Schema.Array(
    Schema.Struct({
      date: date("The day."),
      requests: integer("The number of settled requests with charged tokens.", exampleDay.requests),
      total_tokens: integer("The sum of the charged tokens of these requests.", exampleDay.total_tokens),
      display_cost_usd_micro: text(
        "The exact sum of the list prices of these requests in micro-USD, as decimal digits with an optional fraction.",
        exampleDay.display_cost_usd_micro
      )
    }).annotations({ identifier: "UsageDay" })
  ).annotations({ description: "The days with usage, oldest first. A day without usage is omitted." })
}).annotations({
  identifier: "DailyUsage",
  examples: [{ time_zone: "Asia/Jakarta", from: "2026-11-01", to: "2026-11-20", days: [exampleDay] }]
})

/** The 200 response of a CSV file. */
export const csvBody = (description: string) =>
  Schema.String.annotations({ description, ...HttpApiSchema.annotations({ description }) }).pipe(
    HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/csv" })
  )
