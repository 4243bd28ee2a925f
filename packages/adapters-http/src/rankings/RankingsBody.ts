/**
 * Defines the JSON schema of the rankings document, with descriptions and examples, and converts the domain's rankings
 * to this JSON.
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
  public_name: text("The public name; send it as `model` in a request.", "demo-chat"),
  display_name: text("The display name.", "Demo chat"),
  author: text("The company that made the model.", "OpenAI")
}

const moved = {
  change_pct: nullableInteger(
    "The change from the comparison period in whole percent; halves are rounded away from zero. Null if `is_new` is " +
      "true, and for the window `all`.",
    12
  ),
  is_new: flag("True if the model had no tokens in the comparison period; always false for the window `all`.", false)
}

const LeaderBody = Schema.Struct({
  rank: integer("The rank, starting at 1; ties are ordered by name.", 1),
  ...named,
  listed: flag("True if the model can be called; false if it is retired.", true),
  tokens: integer("The model's tokens in the window.", 4_821_355_490),
  previous_tokens: nullableInteger(
    "The model's tokens in the comparison period; null for the window `all`.",
    4_304_781_688
  ),
  ...moved
}).annotations({ identifier: "RankedModel" })

const PointBody = Schema.Struct({
  start: timestamp("The start of the bucket, which can be before the start of the window.", "2026-11-13T17:00:00.000Z"),
  partial: flag("True if only a part of the bucket is inside the window.", true),
  values: Schema.Record({ key: Schema.String, value: Schema.Number }).annotations({
    jsonSchema: {
      type: "object",
      additionalProperties: { type: "integer" },
      description: "The tokens of each model in `keys`.",
      examples: [{ "demo-chat": 688_765_070 }]
    }
  }),
  other: integer("The tokens of all other models.", 120_400_117)
}).annotations({ identifier: "RankingsPoint" })

const AuthorBody = Schema.Struct({
  author: named.author,
  tokens: integer("The tokens of the author's models in the window.", 4_821_355_490),
  share_bp: integer("The author's share in basis points (hundredths of a percent); all shares add up to 10000.", 3_125)
}).annotations({ identifier: "AuthorShare" })

const TrendBody = Schema.Struct({
  ...named,
  tokens: integer("The model's tokens in the last 7 days, at least 1 million.", 912_004_311),
  change_pct: nullableInteger("The growth over the previous 7 days in whole percent; null if `is_new` is true.", 212),
  is_new: flag("True if the model had no tokens in the previous 7 days.", false)
}).annotations({ identifier: "TrendingModel" })

const SpeedBody = Schema.Struct({
  ...named,
  tps_p50: Schema.Number.annotations({
    description: "The median of output tokens per second, including the time to the first token, with one decimal.",
    examples: [184.2]
  }),
  ttft_p50_ms: integer("The median time to the first token in milliseconds.", 312),
  samples_bucket: Schema.Literal("200+", "1k+", "10k+").annotations({
    description: "The number of streamed requests from which the medians are computed, as a lower bound.",
    examples: ["10k+"]
  })
}).annotations({ identifier: "FastModel" })

export const RankingsBody = Schema.Struct({
  schema_version: Schema.Literal(1).annotations({ description: "The version of this format." }),
  generated_at: timestamp("The time at which the rankings were computed.", "2026-11-20T09:30:04.512Z"),
  window: Schema.Literal("day", "week", "month", "all").annotations({
    description: "The requested window.",
    examples: ["week"]
  }),
  modality: Schema.Literal("text").annotations({ description: "The requested modality." }),
  range: Schema.Struct({
    from: timestamp("The start of the window.", "2026-11-13T09:30:00.000Z"),
    to: timestamp(
      "The end of the window, a whole minute; usage settled at or after this time is not included.",
      "2026-11-20T09:30:00.000Z"
    ),
    previous_from: nullableText(
      "The start of the comparison period, which has the same length as the window and ends at `from`; null for the " +
        "window `all`.",
      "2026-11-06T09:30:00.000Z"
    ),
    data_since: nullableText(
      "The first day with usage, as a date in Jakarta time; null if there is no usage.",
      "2026-08-22"
    )
  }).annotations({ description: "The start and end of the window and of the comparison period." }),
  totals: Schema.Struct({
    tokens: integer(
      "The tokens of all text and embedding models in the window: the leaderboard plus `other`.",
      15_428_337_568
    ),
    previous_tokens: nullableInteger(
      "The tokens of all text and embedding models in the comparison period; null for the window `all`.",
      13_775_301_400
    )
  }).annotations({ description: "The totals of all models, including hidden models." }),
  leaderboard: Schema.Array(LeaderBody).annotations({
    description: "At most 50 models, the model with the most tokens first."
  }),
  other: Schema.Struct({
    tokens: integer("The tokens of the models outside the leaderboard.", 96_400_117)
  }).annotations({ description: "All models that the leaderboard does not name." }),
  series: Schema.Struct({
    bucket: Schema.Literal("hour", "day", "week").annotations({
      description: "The length of a bucket. Days and weeks begin at 00:00 Jakarta time.",
      examples: ["day"]
    }),
    keys: Schema.Array(Schema.String).annotations({
      description: "The public names of the models with the most tokens in the window; at most 8."
    }),
    points: Schema.Array(PointBody).annotations({
      description: "The points in time order; all their tokens add up to `totals.tokens`."
    })
  }).annotations({ description: "The tokens in each bucket of the window." }),
  authors: Schema.Array(AuthorBody).annotations({
    description: "All authors, the author with the most tokens first; hidden models do not count."
  }),
  trending: Schema.Array(TrendBody).annotations({
    description:
      "At most 10 new or growing models. For every window, the last 7 days are compared with the previous 7 days."
  }),
  fastest: Schema.Array(SpeedBody).annotations({
    description:
      "The listed models with at least 200 complete streams in the last 7 days, for every window; the fastest first."
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
