import { userInfo } from "node:os"
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { AN_ID, audited, documentOf, tollgate } from "../CommandLine.ts"
import * as Programme from "./Programme.ts"

const adjust = (reseller: string, usdMicro: string, operationId: string, ...more: ReadonlyArray<string>) =>
  tollgate(
    ...["quota", "adjust", "--reseller", reseller, "--usd-micro", usdMicro],
    ...["--operation-id", operationId, "--reason", "goodwill", ...more]
  )

describe("tollgate quota adjust", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("adds and deducts quota once per operation id", () =>
      Effect.gen(function* () {
        yield* Programme.signedUp("ada@example.com")
        const added = yield* adjust("ada@example.com", "12345678", "op-1", "--json")
        expect(added, added.stderr).toMatchObject({ code: 0, stderr: "" })
        const document = {
          reseller_id: AN_ID,
          email: "ada@example.com",
          operation_id: "op-1",
          amount_usd_micro: "12345678",
          already_applied: false,
          balance_usd_micro: "12345678"
        }
        expect(documentOf(added)).toEqual(document)
        const again = documentOf(yield* adjust("ada@example.com", "12345678", "op-1", "--json"))
        expect(again).toEqual({ ...document, already_applied: true })
        const deducted = yield* adjust("ada@example.com", "-345678", "op-2")
        expect(deducted.stdout).toBe(
          "Deducted 345678 micro-USD from ada@example.com; the quota is now 12.000000 USD.\n"
        )
        const repeated = yield* adjust("ada@example.com", "-345678", "op-2")
        expect(repeated.stdout).toBe(
          "The operation id op-2 was already applied, so no balance was changed. The quota of ada@example.com is 12.000000 USD.\n"
        )
        const actor = userInfo().username
        expect(yield* audited).toMatchObject([
          { actor, action: "quota.adjust", reason: "goodwill" },
          { actor, action: "quota.adjust", reason: "goodwill" }
        ])
        expect(documentOf(yield* tollgate("audit", "--json"))).toMatchObject({ ok: true })
      })
    )

    it.effect("refuses a deduction above the quota", () =>
      Effect.gen(function* () {
        yield* Programme.signedUp("poor@example.com")
        yield* adjust("poor@example.com", "5", "poor-1")
        const refused = yield* adjust("poor@example.com", "-6", "poor-2", "--json")
        expect(refused).toMatchObject({ code: 3 })
        expect(documentOf(refused)).toMatchObject({ error: { code: "insufficient_quota" } })
        expect(refused.stderr).toContain("quota never becomes negative")
        const shown = documentOf(yield* tollgate("resellers", "show", "poor@example.com", "--json"))
        expect(shown).toMatchObject({ balance_usd_micro: "5" })
      })
    )

    it.effect("refuses an operation id that another change used", () =>
      Effect.gen(function* () {
        yield* Programme.signedUp("grace@example.com")
        yield* adjust("grace@example.com", "5", "used")
        const conflict = yield* adjust("grace@example.com", "6", "used", "--json")
        expect(conflict.code).toBe(3)
        expect(documentOf(conflict)).toMatchObject({ error: { code: "operation_conflict" } })
        expect(yield* adjust("unknown@example.com", "6", "unused")).toMatchObject({ code: 3 })
      })
    )

    it.effect("refuses an amount that is 0 or not a whole number", () =>
      Effect.gen(function* () {
        for (const amount of [
          "0",
          "-0",
          "+1",
          "1.5",
          "1e6",
          "0x10",
          "",
          " 1",
          "--1",
          "1000000000000001",
          "9".repeat(40)
        ]) {
          expect(yield* adjust("grace@example.com", amount, "odd"), amount).toMatchObject({ code: 2, stdout: "" })
        }
      })
    )
  })
})
