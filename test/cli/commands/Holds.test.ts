import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { aLedger } from "../../support/LedgerRows.ts"
import * as Stores from "../../support/Stores.ts"
import { A_TIME, layer as commandLine, documentOf, tollgate } from "../CommandLine.ts"

describe("tollgate holds", () => {
  layer(Layer.provideMerge(Stores.stores, commandLine), { excludeTestServices: true })((it) => {
    it.effect("lists open holds and settles the holds of dead nodes", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        expect((yield* tollgate("holds", "list", "--json")).stdout).toBe("[]\n")
        expect((yield* tollgate("holds", "list")).stdout).toBe("No open holds.\n")

        const ledger = yield* aLedger
        yield* sql`UPDATE open_request SET checkpoint_input = 2, checkpoint_output = 1`
        const listed = yield* tollgate("holds", "list", "--json")
        expect(listed).toMatchObject({ code: 0, stderr: "" })
        const hold = {
          request_id: ledger.held,
          email: expect.stringContaining("@example.com"),
          model: expect.stringContaining("ledger-"),
          plan_tokens: 3,
          payg_usd_micro: "0.0005",
          delivered_input_tokens: 2,
          delivered_output_tokens: 1,
          held_at: A_TIME,
          orphaned: false
        }
        expect(documentOf(listed)).toEqual([hold])
        expect(documentOf(yield* tollgate("holds", "sweep", "--json"))).toEqual({ swept: 0 })

        yield* sql`UPDATE gateway_node SET beat_at = clock_timestamp() - interval '1 hour'`
        expect(documentOf(yield* tollgate("holds", "list", "--json"))).toEqual([{ ...hold, orphaned: true }])
        const shown = yield* tollgate("holds", "list")
        expect(shown.stdout).toMatch(
          /^HELD AT +REQUEST +USER +MODEL +PLAN TOKENS +PAYG MICRO-USD +DELIVERED OUTPUT +NODE$/m
        )
        expect(shown.stdout).toContain("1 of them belongs to a dead node")
        const checked = yield* tollgate("doctor")
        expect(checked.stdout).toMatch(/^warn +holds +1 open, 1 on dead nodes$/m)

        const swept = yield* tollgate("holds", "sweep")
        expect(swept).toMatchObject({ code: 0, stdout: "Settled 1 hold of dead nodes.\n" })
        expect((yield* tollgate("holds", "sweep")).stdout).toBe("There are no holds of dead nodes to settle.\n")
        expect(yield* tollgate("audit")).toMatchObject({ code: 0 })
      })
    )
  })
})
