import { userInfo } from "node:os"
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { AN_ID, audited, documentOf, tollgate } from "../CommandLine.ts"
import * as Programme from "./Programme.ts"

const link = (reseller: string, user: string, ...more: ReadonlyArray<string>) =>
  tollgate("customers", "link", "--reseller", reseller, "--user", user, ...more)

describe("tollgate customers link", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("links a user to a reseller", () =>
      Effect.gen(function* () {
        const { id } = yield* Programme.signedUp("toko@example.com")
        yield* tollgate("users", "create", "ada@example.com")
        const linked = yield* link("toko@example.com", "ada@example.com", "--reason", "ticket 7", "--json")
        expect(linked, linked.stderr).toMatchObject({ code: 0 })
        const customer = {
          user_id: AN_ID,
          email: "ada@example.com",
          reseller_id: id,
          reseller_email: "toko@example.com"
        }
        expect(documentOf(linked)).toEqual(customer)
        const again = yield* link(id, "ADA@example.com")
        expect(again.stdout).toMatch(/^ada@example\.com \(\S+\) is a customer of toko@example\.com\.\n$/)
        expect((yield* audited).slice(1)).toMatchObject([
          { actor: userInfo().username, action: "customer.link", reason: "ticket 7" }
        ])
      })
    )

    it.effect("requires an existing reseller and an existing user", () =>
      Effect.gen(function* () {
        yield* Programme.signedUp("alone@example.com")
        const noUser = yield* link("alone@example.com", "unknown@example.com", "--json")
        expect(noUser.code).toBe(3)
        expect(documentOf(noUser)).toMatchObject({ error: { code: "user_not_found" } })
        const noReseller = yield* link("unknown@example.com", "ada@example.com", "--json")
        expect(documentOf(noReseller)).toMatchObject({ error: { code: "reseller_not_found" } })
        expect(yield* tollgate("customers", "link", "--user", "ada@example.com")).toMatchObject({ code: 2 })
      })
    )
  })
})
