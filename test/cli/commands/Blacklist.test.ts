import { userInfo } from "node:os"
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { A_TIME, audited, layer as commandLine, documentOf, tollgate } from "../CommandLine.ts"

describe("tollgate blacklist", () => {
  layer(commandLine, { excludeTestServices: true })((it) => {
    it.effect("adds and removes a domain", () =>
      Effect.gen(function* () {
        expect((yield* tollgate("blacklist", "list")).stdout).toBe("The blacklist is empty.\n")
        const added = yield* tollgate("blacklist", "add", "@Spam.Example", "--reason", "ticket 9", "--json")
        const entry = { pattern: "@spam.example", created_at: A_TIME, listed: true }
        expect(documentOf(added)).toEqual(entry)
        expect(documentOf(yield* tollgate("blacklist", "add", "@spam.example", "--json"))).toEqual(documentOf(added))
        const one = yield* tollgate("blacklist", "add", "bad@example.com")
        expect(one.stdout).toMatch(/^bad@example\.com cannot sign up\. Blocked since: \S+\.\n$/)

        const listed = documentOf(yield* tollgate("blacklist", "list", "--json"))
        expect(listed).toEqual([entry, { ...entry, pattern: "bad@example.com" }])
        expect((yield* tollgate("blacklist", "list")).stdout).toMatch(/^PATTERN +SINCE$/m)

        const removed = yield* tollgate("blacklist", "remove", "@spam.example", "--json")
        expect(documentOf(removed)).toEqual({ ...entry, listed: false })
        expect(documentOf(yield* tollgate("blacklist", "list", "--json"))).toMatchObject([
          { pattern: "bad@example.com" }
        ])
        const actor = userInfo().username
        expect(yield* audited).toMatchObject([
          { actor, action: "blacklist.add", reason: "ticket 9" },
          { actor, action: "blacklist.add", reason: "cli: blacklist add" },
          { actor, action: "blacklist.remove", reason: "cli: blacklist remove" }
        ])
      })
    )

    it.effect("refuses to remove an unlisted pattern and to add an invalid pattern", () =>
      Effect.gen(function* () {
        const missing = yield* tollgate("blacklist", "remove", "@nowhere.example", "--json")
        expect(missing).toMatchObject({ code: 3 })
        expect(documentOf(missing)).toMatchObject({ error: { code: "pattern_not_listed" } })
        for (const pattern of ["example.com", "@", "*@example.com x", "@exa mple.com"]) {
          expect(yield* tollgate("blacklist", "add", pattern), pattern).toMatchObject({ code: 2, stdout: "" })
        }
      })
    )
  })
})
