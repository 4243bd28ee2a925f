/**
 * The rankings document as clients read it: every member with what it means and what it looks like.
 */
import type { Rankings } from "@tollgate/domain/rankings/Rankings"
import * as Schema from "effect/Schema"
import { instant, integer, text, timestamp, wholeNumber } from "../openapi/Fields.ts"

const nullable = (type: "string" | "integer", description: string, example: string | number) => {
  const annotations = { jsonSchema: { type: [type, "null"], description, examples: [example, null] } }
  return annotations
}
const nullableInteger = (description: string, example: number) =>
  Schema.NullOr(Schema.Number).annotations(nullable("integer", description, example))
const nullableText = (description: string, example: string) =>
  Schema.NullOr(Schema.String).annotations(nullable("string", description, example))
const flag = (description: string, example: boolean) =>
  Schema.Boolean.annotations({ jsonSchema: { type: "boolean", description, examples: [example] } })

const named = {
  public_name: text("The name that `model` is set to in a request.", "gpt-5-mini"),
  display_name: text("The name for people.", "GPT-5 mini"),
  author: text("Who made the model.", "OpenAI")
}

const moved = {
  change_pct: nullableInteger(
    "Whole percent more or less than in the comparison period, half away from zero; null when `is_new`, and for `all`.",
    12
  ),
  is_new: flag("Had no tokens in the comparison period; never in `all`.", false)
}

const LeaderBody = Schema.Struct({
  rank: integer("From 1; equal ones by name.", 1),
  ...named,
  listed: flag("Can be called. A retired model keeps its history, unlisted.", true),
  tokens: integer("Tokens in the window.", 4_821_355_490),
  previous_tokens: nullableInteger("Tokens in the comparison period; null for `all`.", 4_304_781_688),
  ...moved
}).annotations({ identifier: "RankedModel" })

const PointBody = Schema.Struct({
  start: timestamp("Where the whole bucket begins; this can be before the window does.", "2026-11-13T17:00:00.000Z"),
  partial: flag("Cut by the edge of the window.", true),
  values: Schema.Record({ key: Schema.String, value: Schema.Number }).annotations({
    jsonSchema: {
      type: "object",
      additionalProperties: { type: "integer" },
      description: "Tokens of each of `keys`.",
      examples: [{ "gpt-5-mini": 688_765_070 }]
    }
  }),
  other: integer("Tokens of all other models.", 120_400_117)
}).annotations({ identifier: "RankingsPoint" })

const AuthorBody = Schema.Struct({
  author: named.author,
  tokens: integer("Tokens of the author's models in the window.", 4_821_355_490),
  share_bp: integer("Share in basis points, hundredths of a percent; all shares add up to 10000.", 3_125)
}).annotations({ identifier: "AuthorShare" })

const TrendBody = Schema.Struct({
  ...named,
  tokens: integer("Tokens in the last 7 days, a million or more.", 912_004_311),
  change_pct: nullableInteger("Whole percent more than in the 7 days before; null when `is_new`.", 212),
  is_new: flag("Had no tokens in the 7 days before.", false)
}).annotations({ identifier: "TrendingModel" })

const SpeedBody = Schema.Struct({
  ...named,
  tps_p50: Schema.Number.annotations({
    description: "Median of output tokens by the second, the time to the first token included; one decimal.",
    examples: [184.2]
  }),
  ttft_p50_ms: integer("Median of milliseconds to the first token.", 312),
  samples_bucket: Schema.Literal("200+", "1k+", "10k+").annotations({
    description: "How many streamed requests the medians are of.",
    examples: ["10k+"]
  })
}).annotations({ identifier: "FastModel" })

export const RankingsBody = Schema.Struct({
  schema_version: Schema.Literal(1).annotations({ description: "Of this document." }),
  generated_at: timestamp("When this was counted.", "2026-11-20T09:30:04.512Z"),
  window: Schema.Literal("day", "week", "month", "all").annotations({
    description: "As asked for.",
    examples: ["week"]
  }),
  modality: Schema.Literal("text").annotations({ description: "As asked for." }),
  range: Schema.Struct({
    from: timestamp("Where the window begins.", "2026-11-13T09:30:00.000Z"),
    to: timestamp("The minute of the count; what was settled at it or later is not in.", "2026-11-20T09:30:00.000Z"),
    previous_from: nullableText(
      "Where the comparison period begins, as long as the window and ending where it begins; null for `all`.",
      "2026-11-06T09:30:00.000Z"
    ),
    data_since: nullableText("The first day with usage, a date in Jakarta; null without any.", "2026-08-22")
  }).annotations({ description: "Bounds, to the minute." }),
  totals: Schema.Struct({
    tokens: integer("All text tokens in the window: the leaderboard and `other`.", 15_428_337_568),
    previous_tokens: nullableInteger("All text tokens in the comparison period; null for `all`.", 13_775_301_400)
  }).annotations({ description: "Of all models, hidden ones included." }),
  leaderboard: Schema.Array(LeaderBody).annotations({ description: "Most tokens first; at most 50." }),
  other: Schema.Struct({
    tokens: integer("Tokens of the models that are not in the leaderboard.", 96_400_117)
  }).annotations({ description: "What is not shown by name." }),
  series: Schema.Struct({
    bucket: Schema.Literal("hour", "day", "week").annotations({
      description: "How long a point lasts. Days and weeks begin at 00:00 in Jakarta.",
      examples: ["day"]
    }),
    keys: Schema.Array(Schema.String).annotations({ description: "The top models of the window, at most 8." }),
    points: Schema.Array(PointBody).annotations({ description: "In time order; together they are `totals.tokens`." })
  }).annotations({ description: "Tokens over time." }),
  authors: Schema.Array(AuthorBody).annotations({ description: "Most tokens first; of models that are not hidden." }),
  trending: Schema.Array(TrendBody).annotations({
    description: "Models that are new or growing, 7 days against the 7 before, whatever the window; at most 10."
  }),
  fastest: Schema.Array(SpeedBody).annotations({
    description: "Models by speed over 7 days, whatever the window; with 200 streamed requests or more."
  })
}).annotations({ identifier: "Rankings" })

type Body = typeof RankingsBody.Type

interface Named {
  readonly publicName: string
  readonly displayName: string
  readonly author: string
}

const toNames = ({ publicName, displayName, author }: Named) => ({
  public_name: publicName,
  display_name: displayName,
  author
})

const orNull = (amount: bigint | null): number | null => (amount === null ? null : wholeNumber(amount))

export const toBody = (rankings: Rankings): Body => {
  const { generatedAt, window, modality, range, totals, leaderboard, other, series, authors } = rankings
  return {
    schema_version: rankings.schemaVersion,
    generated_at: instant(generatedAt),
    window,
    modality,
    range: {
      from: instant(range.from),
      to: instant(range.to),
      previous_from: range.previousFrom === null ? null : instant(range.previousFrom),
      data_since: range.dataSince
    },
    totals: { tokens: wholeNumber(totals.tokens), previous_tokens: orNull(totals.previousTokens) },
    leaderboard: leaderboard.map((entry) => ({
      rank: entry.rank,
      ...toNames(entry),
      listed: entry.listed,
      tokens: wholeNumber(entry.tokens),
      previous_tokens: orNull(entry.previousTokens),
      change_pct: orNull(entry.changePct),
      is_new: entry.isNew
    })),
    other: { tokens: wholeNumber(other.tokens) },
    series: {
      bucket: series.bucket,
      keys: series.keys,
      points: series.points.map((point) => ({
        start: instant(point.start),
        partial: point.partial,
        values: Object.fromEntries(series.keys.map((key, i) => [key, wholeNumber(point.values[i] ?? 0n)])),
        other: wholeNumber(point.other)
      }))
    },
    authors: authors.map(({ author, tokens, shareBp }) => ({
      author,
      tokens: wholeNumber(tokens),
      share_bp: wholeNumber(shareBp)
    })),
    trending: rankings.trending.map((entry) => ({
      ...toNames(entry),
      tokens: wholeNumber(entry.tokens),
      change_pct: orNull(entry.changePct),
      is_new: entry.isNew
    })),
    fastest: rankings.fastest.map((entry) => ({
      ...toNames(entry),
      tps_p50: entry.tpsP50,
      ttft_p50_ms: entry.ttftP50Millis,
      samples_bucket: entry.samplesBucket
    }))
  }
}
