import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { aLedger } from "../../support/LedgerRows.ts"
import * as Stores from "../../support/Stores.ts"
import { A_TIME, layer as commandLine, documentOf, tollgate } from "../CommandLine.ts"

const NO_REQUEST = "0193a5c2-0000-7000-8000-000000000000"
const price = { input: 1_000, cache_write: expect.any(Number), cache_read: expect.any(Number), output: 4_000 }

describe("tollgate requests show", () => {
  layer(Layer.provideMerge(Stores.stores, commandLine), { excludeTestServices: true })((it) => {
    it.effect("shows the settlement of a request", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { keyId, resellerId, settled, userId } = yield* aLedger
        const [seller] = yield* sql<{ email: string }>`SELECT email FROM reseller WHERE id = ${resellerId}`
        const document = documentOf(yield* tollgate("requests", "show", settled, "--json"))
        expect(document).toEqual({
          request_id: settled,
          state: "settled",
          user_id: userId,
          email: expect.stringContaining("@example.com"),
          resellers: [seller?.email],
          key_id: keyId,
          key_public_id: expect.stringMatching(/^[0-9A-Za-z]{16}$/),
          key_name: "key",
          model: expect.stringContaining("ledger-"),
          routes: [{ provider: "lab", upstream_model: expect.any(String) }],
          protocol: "chat",
          streamed: expect.any(Boolean),
          price_usd_micro_per_million_tokens: price,
          held_at: A_TIME,
          hold: null,
          settlement: {
            ending: "complete",
            usage_source: "upstream",
            charged_tokens: { input: 10, cache_write: 0, cache_read: 0, output: 5 },
            consumed_tokens: { input: 10, cache_write: 0, cache_read: 0, output: 6 },
            cost_usd_micro: "0.03",
            plan_tokens: 8,
            plan_value_usd_micro: "0.008",
            payg_usd_micro: "0.022",
            written_off_usd_micro: "0",
            write_off_reason: null,
            operator_loss_usd_micro: "0.004",
            time_to_first_token_millis: null,
            duration_millis: expect.any(Number),
            settled_at: A_TIME
          },
          image: null
        })
        const shown = yield* tollgate("requests", "show", settled)
        expect(shown).toMatchObject({ code: 0, stderr: "" })
        expect(shown.stdout).toMatch(/^State +settled: complete$/m)
        expect(shown.stdout).toMatch(/^TOKEN CLASS +CHARGED +USED BY PROVIDER +MICRO-USD PER MILLION$/m)
        expect(shown.stdout).toMatch(/^output +5 +6 +4000$/m)
      })
    )

    it.effect("shows the hold of an open request", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { held, node } = yield* aLedger
        yield* sql`UPDATE open_request SET checkpoint_input = 2, checkpoint_output = 1 WHERE request_id = ${held}`
        const hold = {
          plan_tokens: 3,
          payg_usd_micro: "0.0005",
          delivered_input_tokens: 2,
          delivered_output_tokens: 1,
          node_id: node,
          orphaned: false
        }
        const open = yield* tollgate("requests", "show", held, "--json")
        expect(documentOf(open)).toMatchObject({ request_id: held, state: "open", hold, settlement: null })
        yield* sql`UPDATE gateway_node SET left_at = clock_timestamp() WHERE id = ${node}`
        expect(documentOf(yield* tollgate("requests", "show", held, "--json"))).toMatchObject({
          hold: { ...hold, orphaned: true }
        })
        expect((yield* tollgate("requests", "show", held)).stdout).toMatch(/^Node .*dead: a sweep settles the request/m)
      })
    )

    it.effect("finds a request by the id of its response", () =>
      Effect.gen(function* () {
        const { settled } = yield* aLedger
        const digits = settled.replaceAll("-", "")
        for (const id of [`chatcmpl-${digits}`, `msg_${digits}`, `resp_${digits}`, settled.toUpperCase()]) {
          expect(documentOf(yield* tollgate("requests", "show", id, "--json"))).toMatchObject({ request_id: settled })
        }
      })
    )

    it.effect("reports that an unknown request is not stored", () =>
      Effect.gen(function* () {
        const unknown = yield* tollgate("requests", "show", NO_REQUEST)
        expect(unknown).toMatchObject({ code: 3, stdout: "" })
        expect(unknown.stderr).toContain(`There is no open or settled request ${NO_REQUEST}.`)
        expect(yield* tollgate("requests", "show", "0193a5c2")).toMatchObject({ code: 2, stdout: "" })
      })
    )
  })
})
