import { describe, expect, layer } from "@effect/vitest"
import * as PgApiKeys from "@tollgate/adapters-postgres/customer/PgApiKeys"
import * as PgMints from "@tollgate/adapters-postgres/mint/PgMints"
import { parse } from "csv-parse/sync"
import { Effect, Layer } from "effect"
import { aLedger } from "../../support/LedgerRows.ts"
import * as Stores from "../../support/Stores.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { A_TIME, layer as commandLine, documentOf, start, tollgate } from "../CommandLine.ts"

const ports = Layer.provideMerge(
  Layer.merge(PgApiKeys.layer, PgMints.layer),
  Layer.provideMerge(Stores.stores, commandLine)
)

describe("the lists of a reseller", () => {
  layer(ports, { excludeTestServices: true })((it) => {
    it.effect("show the keys and the mints of a reseller's customers", () =>
      Effect.gen(function* () {
        const { keyId, mint, resellerId, userId } = yield* aLedger
        const keys = yield* tollgate("keys", "list", "--reseller", resellerId, "--json")
        expect(documentOf(keys)).toMatchObject([
          { key_id: keyId, user_id: userId, created_at: A_TIME, last_used_at: null, revoked_at: null }
        ])
        const shown = yield* tollgate("keys", "list", "--reseller", resellerId)
        expect(shown.stdout).toMatch(/^KEY ID +CUSTOMER +NAME +CREATED +LAST USED +REVOKED$/m)
        const mints = yield* tollgate("mints", "list", "--reseller", resellerId, "--json")
        expect(documentOf(mints)).toMatchObject([
          {
            operation_id: mint,
            customer_user_id: userId,
            granted_tokens: 100,
            price_usd_micro: "5000000",
            minted_at: A_TIME
          }
        ])
        const table = yield* tollgate("mints", "list", "--reseller", resellerId)
        expect(table.stdout).toMatch(/^MINTED +CUSTOMER +MODEL +TOKENS +PRICE +OPERATION ID$/m)
        const earlier = yield* tollgate("mints", "list", "--reseller", resellerId, "--to", "2026-01-01")
        expect(earlier.stdout).toContain("No mints of")
      })
    )

    it.effect("show daily sums of usage", () =>
      Effect.gen(function* () {
        const { resellerId, settled, userId } = yield* aLedger
        const sums = yield* tollgate("usage", "show", "--reseller", resellerId, "--json")
        expect(documentOf(sums)).toMatchObject({
          time_zone: "Asia/Jakarta",
          days: [{ requests: 1, total_tokens: 15, display_cost_usd_micro: "0.03" }]
        })
        expect((yield* tollgate("usage", "show", "--reseller", resellerId)).stdout).toMatch(
          /^DAY +REQUESTS +TOKENS +MICRO-USD$/m
        )
        const { url } = yield* TestDatabase
        const csv = yield* start({ DATABASE_URL: url, NODE_ENV: "test" }, "usage", "export", "--reseller", resellerId)
          .printed
        expect(csv).toMatchObject({ code: 0, stderr: "" })
        expect(parse(csv.stdout, { columns: true })).toMatchObject([
          { request_id: settled, user_id: userId, total_tokens: "15", display_cost_usd_micro: "0.03" }
        ])
      })
    )

    it.effect("require either --user or --reseller, and a valid range of days", () =>
      Effect.gen(function* () {
        const { resellerId } = yield* aLedger
        for (const args of [
          ["keys", "list"],
          ["keys", "list", "--user", "ada@example.com", "--reseller", resellerId],
          ["usage", "show"],
          ["usage", "show", "--reseller", resellerId, "--from", "2026-02-30"],
          ["usage", "show", "--reseller", resellerId, "--from", "2026-01-01", "--to", "2026-12-31"],
          ["mints", "list", "--reseller", resellerId, "--from", "2026-01-02", "--to", "2026-01-01"]
        ]) {
          expect({ args, ...(yield* tollgate(...args)) }).toMatchObject({ args, code: 2, stdout: "" })
        }
        expect(yield* tollgate("usage", "show", "--user", "unknown@example.com")).toMatchObject({ code: 3 })
      })
    )
  })
})
