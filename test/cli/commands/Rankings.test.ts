import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { aLedger } from "../../support/LedgerRows.ts"
import * as Stores from "../../support/Stores.ts"
import { layer as commandLine, documentOf, tollgate } from "../CommandLine.ts"

describe("tollgate rankings rebuild", () => {
  layer(Layer.provideMerge(Stores.stores, commandLine), { excludeTestServices: true })((it) => {
    it.effect("counts usage again, and says how much of it was wrong", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        expect(yield* tollgate("rankings", "rebuild")).toEqual({
          code: 0,
          stdout: "Nothing was ever used.\n",
          stderr: ""
        })

        yield* aLedger
        const right = yield* tollgate("rankings", "rebuild", "--json")
        expect([right.code, documentOf(right)]).toEqual([0, { days: 1, corrected: 0 }])

        yield* sql`UPDATE usage_rollup SET tokens = tokens + 1 WHERE grain = 'hour'`
        expect((yield* tollgate("audit")).stdout).toMatch(/^1 row differs +usage-is-settled /m)
        expect((yield* tollgate("rankings", "rebuild")).stdout).toBe(
          "Counted 1 day again: 1 sum was wrong and is right now.\n"
        )
        expect((yield* tollgate("audit")).code).toBe(0)
        expect((yield* tollgate("rankings", "rebuild")).stdout).toBe("Counted 1 day again: everything was right.\n")
      })
    )

    it.effect("needs its command", () =>
      Effect.gen(function* () {
        expect((yield* tollgate("rankings")).code).toBe(2)
      })
    )
  })
})
