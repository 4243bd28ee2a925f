import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layer as commandLine, documentOf, tollgate } from "../CommandLine.ts"

interface Report {
  readonly ok: boolean
  readonly checks: ReadonlyArray<{ readonly id: string; readonly ok: boolean; readonly violations: number }>
  readonly figures: Readonly<Record<string, string>>
}

describe("tollgate audit", () => {
  layer(commandLine, { excludeTestServices: true })((it) => {
    it.effect("exits with 1 if a balance differs from the journals", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* tollgate("users", "create", "ada@example.com")
        yield* tollgate(..."payg credit --user ada@example.com --usd-micro 5 --operation-id x --reason y".split(" "))

        const clean = yield* tollgate("audit", "--json")
        const report = documentOf(clean) as Report
        expect(clean).toMatchObject({ code: 0, stderr: "" })
        expect(report.ok).toBe(true)
        expect(report.checks.length).toBeGreaterThan(10)
        expect(report.checks.every(({ ok, violations }) => ok && violations === 0)).toBe(true)
        expect(report.figures).toMatchObject({ accounts: "1", settlements: "0", written_off_usd: "0.000000" })
        const text = yield* tollgate("audit")
        expect(text.stdout).toMatch(/^RESULT +CHECK +INVARIANT$/m)
        expect(text.stdout).toMatch(/^written off whole response usd +0\.000000$/m)
        expect(text.stdout).toMatch(/\n\nEvery check passes\.\n$/)

        yield* sql`UPDATE account SET credits_posted = credits_posted + 1 WHERE kind = 'payg'`
        const broken = yield* tollgate("audit", "--json")
        expect(broken.code).toBe(1)
        const found = documentOf(broken) as Report
        expect(found.ok).toBe(false)
        expect(found.checks.filter(({ ok }) => !ok)).toContainEqual(
          expect.objectContaining({ id: "credits-are-journal", violations: 1 })
        )
        const differing = yield* tollgate("audit")
        expect(differing.code).toBe(1)
        expect(differing.stdout).toMatch(/^1 row differs +credits-are-journal /m)
        expect(differing.stderr).toContain("These checks fail: ")
      })
    )
  })
})
