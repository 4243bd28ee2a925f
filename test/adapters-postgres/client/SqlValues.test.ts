import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { jsonText } from "@tollgate/adapters-postgres/client/SqlValues"
import { Effect, FastCheck } from "effect"
import * as TestDatabase from "../../support/TestDatabase.ts"

describe("a JSON text for Postgres", () => {
  layer(TestDatabase.layer, { excludeTestServices: true })((it) => {
    const stored = (value: unknown) =>
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.map(sql<{ json: unknown }>`SELECT ${jsonText(value)}::jsonb AS json`, ([row]) => row?.json)
      )

    it.effect("has replacement characters for characters that Postgres cannot store", () =>
      Effect.gen(function* () {
        const whole = '\u{1f984} "\\u0000" \\ \n é'
        expect(yield* stored([whole, "a\0b", "\ud800", "\udc00\ud800", ["\ud83e\udd84\ud83e"]])).toEqual([
          whole,
          "a\ufffdb",
          "\ufffd",
          "\ufffd\ufffd",
          ["\u{1f984}\ufffd"]
        ])
        for (const text of FastCheck.sample(FastCheck.fullUnicodeString(), 50)) {
          expect(yield* stored({ text })).toEqual({ text: text.replaceAll("\0", "\ufffd") })
        }
      })
    )

    it.effect("contains bigints as strings of digits", () =>
      Effect.gen(function* () {
        expect(yield* stored({ amount: 2n ** 256n })).toEqual({ amount: (2n ** 256n).toString() })
        expect(yield* stored(undefined)).toBe(null)
      })
    )
  })
})
