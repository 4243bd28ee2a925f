import { userInfo } from "node:os"
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { AN_ID, audited, layer as commandLine, documentOf, tollgate } from "../CommandLine.ts"

const credit = (email: string, usdMicro: string, operationId: string, ...more: ReadonlyArray<string>) =>
  tollgate(
    ...["payg", "credit", "--user", email, "--usd-micro", usdMicro],
    ...["--operation-id", operationId, "--reason", "goodwill", ...more]
  )

describe("tollgate payg credit", () => {
  layer(commandLine, { excludeTestServices: true })((it) => {
    it.effect("credits once per operation id", () =>
      Effect.gen(function* () {
        yield* tollgate("users", "create", "ada@example.com")
        const first = yield* credit("ada@example.com", "12345678", "op-1", "--json")
        const applied = {
          user_id: AN_ID,
          email: "ada@example.com",
          operation_id: "op-1",
          amount_usd_micro: "12345678",
          already_applied: false,
          payg: { currency: "USD", balance: "12.345678", balance_usd_micro: "12345678" }
        }
        expect(first).toMatchObject({ code: 0, stderr: "" })
        expect(documentOf(first)).toEqual(applied)
        const again = yield* credit("ada@example.com", "12345678", "op-1", "--json")
        expect(again.code).toBe(0)
        expect(documentOf(again)).toEqual({ ...applied, already_applied: true })
        const repeated = yield* credit("ada@example.com", "12345678", "op-1")
        expect(repeated.stdout).toBe(
          "The operation id op-1 was already applied, so no balance was changed. The balance of ada@example.com is 12.345678 USD.\n"
        )
        const more = yield* credit("ada@example.com", "1", "op-2")
        expect(more.stdout).toBe("Credited 1 micro-USD to ada@example.com; the balance is now 12.345679 USD.\n")
        expect((yield* audited).slice(1)).toMatchObject([
          { actor: userInfo().username, action: "payg.credit", reason: "goodwill", detail: { usd_micro: "12345678" } },
          { actor: userInfo().username, action: "payg.credit", reason: "goodwill", detail: { usd_micro: "1" } }
        ])
      })
    )

    it.effect("refuses an operation id that another credit used", () =>
      Effect.gen(function* () {
        yield* tollgate("users", "create", "grace@example.com")
        yield* credit("grace@example.com", "5", "used")
        const conflict = yield* credit("grace@example.com", "6", "used", "--json")
        expect(conflict.code).toBe(3)
        expect(documentOf(conflict)).toMatchObject({ error: { code: "operation_conflict" } })
        expect(conflict.stderr).toContain("No balance was changed")
        expect(yield* credit("unknown@example.com", "6", "unused")).toMatchObject({ code: 3 })
      })
    )

    it.effect("refuses a credit beyond the maximum of all credits of a user", () =>
      Effect.gen(function* () {
        yield* tollgate("users", "create", "rich@example.com")
        for (let n = 1; n <= 9; n++) yield* credit("rich@example.com", "1000000000000", `rich-${n}`)
        const refused = yield* credit("rich@example.com", "1000000000000", "rich-10", "--json")
        expect(refused.code).toBe(3)
        expect(documentOf(refused)).toMatchObject({ error: { code: "amount_out_of_range" } })
        expect(refused.stderr).toContain("At most 223372036854 micro-USD can still be credited to this user")
      })
    )

    it.effect("refuses an amount that is not a positive whole number", () =>
      Effect.gen(function* () {
        for (const amount of ["0", "-1", "1.5", "1e6", "0x10", "", " 1", "１", "1000000000001", "9".repeat(40)]) {
          expect(yield* credit("ada@example.com", amount, "odd"), amount).toMatchObject({ code: 2, stdout: "" })
        }
      })
    )

    it.effect("requires an operation id and a reason", () =>
      Effect.gen(function* () {
        const bare = ["payg", "credit", "--user", "ada@example.com", "--usd-micro", "5"]
        expect(yield* tollgate(...bare, "--operation-id", "x")).toMatchObject({ code: 2 })
        expect(yield* tollgate(...bare, "--reason", "x")).toMatchObject({ code: 2 })
        expect(yield* tollgate(...bare, "--reason", "x", "--operation-id", "x".repeat(129))).toMatchObject({ code: 2 })
        expect(yield* tollgate(...bare, "--reason", " ", "--operation-id", "x")).toMatchObject({ code: 2 })
      })
    )
  })
})
