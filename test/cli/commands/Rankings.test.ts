import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { aLedger } from "../../support/LedgerRows.ts"
import * as Stores from "../../support/Stores.ts"
import { layer as commandLine, documentOf, tollgate } from "../CommandLine.ts"

describe("tollgate rankings", () => {
  layer(Layer.provideMerge(Stores.stores, commandLine), { excludeTestServices: true })((it) => {
    it.effect("rebuild corrects wrong sums of usage", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        expect(yield* tollgate("rankings", "rebuild")).toEqual({
          code: 0,
          stdout: "There is no usage to count.\n",
          stderr: ""
        })

        yield* aLedger
        const right = yield* tollgate("rankings", "rebuild", "--json")
        expect([right.code, documentOf(right)]).toEqual([0, { days: 1, corrected: 0 }])

        yield* sql`UPDATE usage_rollup SET tokens = tokens + 1 WHERE grain = 'hour'`
        expect((yield* tollgate("audit")).stdout).toMatch(/^1 row differs +usage-is-settled /m)
        expect((yield* tollgate("rankings", "rebuild")).stdout).toBe("Rebuilt 1 day: corrected 1 wrong sum.\n")
        expect((yield* tollgate("audit")).code).toBe(0)
        expect((yield* tollgate("rankings", "rebuild")).stdout).toBe("Rebuilt 1 day: every sum was correct.\n")
      })
    )

    it.effect("requires a subcommand", () =>
      Effect.gen(function* () {
        expect((yield* tollgate("rankings")).code).toBe(2)
      })
    )
  })
})
