import { userInfo } from "node:os"
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { A_TIME, AN_ID, audited, documentOf, tollgate } from "../CommandLine.ts"
import * as Programme from "./Programme.ts"

describe("tollgate resellers", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("lists the newest reseller first", () =>
      Effect.gen(function* () {
        expect((yield* tollgate("resellers", "list")).stdout).toBe("No resellers.\n")
        expect((yield* tollgate("resellers", "list", "--json")).stdout).toBe("[]\n")
        yield* Programme.signedUp("first@example.com")
        yield* Programme.signedUp("second@example.com")
        yield* tollgate("resellers", "approve", "first@example.com")

        const all = documentOf(yield* tollgate("resellers", "list", "--json"))
        const second = {
          id: AN_ID,
          email: "second@example.com",
          name: "Toko Token",
          wa_number: "628123456789",
          status: "pending",
          created_at: A_TIME
        }
        expect(all).toEqual([second, { ...second, email: "first@example.com", status: "active" }])
        const active = documentOf(yield* tollgate("resellers", "list", "--status", "active", "--json"))
        expect(active).toMatchObject([{ email: "first@example.com" }])
        expect((yield* tollgate("resellers", "list", "--status", "suspended")).stdout).toBe("No suspended resellers.\n")
        const { stdout } = yield* tollgate("resellers", "list", "--status", "pending")
        expect(stdout).toMatch(/^SIGNED UP +EMAIL +NAME +WHATSAPP +STATUS +ID$/m)
        expect(stdout).toMatch(/ second@example\.com +Toko Token +628123456789 +pending /)
      })
    )

    it.effect("changes the status of a reseller and records the actor", () =>
      Effect.gen(function* () {
        const { id } = yield* Programme.signedUp("reviewed@example.com")
        const before = (yield* audited).length
        const statusAfter = (review: string, name: string, ...more: ReadonlyArray<string>) =>
          Effect.map(tollgate("resellers", review, name, ...more, "--json"), (printed) => {
            expect(printed, printed.stderr).toMatchObject({ code: 0 })
            return (documentOf(printed) as { status: string }).status
          })
        expect(yield* statusAfter("reject", "reviewed@example.com")).toBe("rejected")
        expect(yield* statusAfter("approve", id, "--reason", "ticket 7")).toBe("active")
        expect(yield* statusAfter("suspend", " REVIEWED@example.com")).toBe("suspended")
        expect(yield* statusAfter("reactivate", id.toUpperCase())).toBe("active")
        expect(yield* statusAfter("reactivate", id)).toBe("active")
        const actor = userInfo().username
        expect((yield* audited).slice(before)).toMatchObject([
          { actor, action: "reseller.reject", reason: "cli: resellers reject" },
          { actor, action: "reseller.approve", reason: "ticket 7" },
          { actor, action: "reseller.suspend", reason: "cli: resellers suspend" },
          { actor, action: "reseller.reactivate", reason: "cli: resellers reactivate" }
        ])
        const suspended = yield* tollgate("resellers", "suspend", id)
        expect(suspended.stdout).toBe(
          "reviewed@example.com is suspended: its login tokens no longer work. Undo with: tollgate resellers reactivate reviewed@example.com\n"
        )
      })
    )

    it.effect("refuses a change that does not apply to the current status", () =>
      Effect.gen(function* () {
        yield* Programme.signedUp("waiting@example.com")
        const refused = yield* tollgate("resellers", "suspend", "waiting@example.com", "--json")
        expect(refused).toMatchObject({ code: 3 })
        expect(documentOf(refused)).toMatchObject({ error: { code: "review_refused" } })
        expect(refused.stderr).toBe(
          "The command suspend does not apply to a reseller with the status pending. Nothing was changed.\n"
        )
      })
    )

    it.effect("shows a reseller with its quota", () =>
      Effect.gen(function* () {
        const { id } = yield* Programme.signedUp("rich@example.com")
        const paid = ["--usd-micro", "12345678", "--operation-id", "first", "--reason", "a test"]
        yield* tollgate("quota", "adjust", "--reseller", "rich@example.com", ...paid)
        const shown = documentOf(yield* tollgate("resellers", "show", id, "--json"))
        expect(shown).toMatchObject({ id, email: "rich@example.com", balance_usd_micro: "12345678" })
        const { stdout } = yield* tollgate("resellers", "show", "rich@example.com")
        expect(stdout).toMatch(/^Quota +12\.345678 USD$/m)
        expect(stdout).not.toContain("argon2")
      })
    )

    it.effect("refuses an unknown reseller and an unknown status", () =>
      Effect.gen(function* () {
        for (const name of ["unknown@example.com", "01930000-0000-7000-8000-000000000001", "x'; --"]) {
          const shown = yield* tollgate("resellers", "show", name)
          expect(shown, name).toMatchObject({ code: 3, stdout: "" })
          expect(shown.stderr).toContain("tollgate resellers list")
        }
        const odd = yield* tollgate("resellers", "list", "--status", "odd")
        expect(odd).toMatchObject({ code: 2, stdout: "" })
        expect(odd.stderr).toContain("--status: expected one of: pending, active, rejected, suspended")
      })
    )
  })
})
