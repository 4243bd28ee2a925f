import { describe, expect, layer } from "@effect/vitest"
import { Blacklist } from "@tollgate/application/reseller/Blacklist"
import { BlacklistPattern, PatternNotListed } from "@tollgate/domain/reseller/Blacklist"
import { Email } from "@tollgate/domain/validation/Email"
import { Effect } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"

const pattern = (text: string) => BlacklistPattern.make(text)
const add = (text: string) => Effect.flatMap(Blacklist, (blacklist) => blacklist.add(pattern(text), Stores.operator))
const remove = (text: string) =>
  Effect.flatMap(Blacklist, (blacklist) => blacklist.remove(pattern(text), Stores.operator))
const covers = (email: string) => Effect.flatMap(Blacklist, (blacklist) => blacklist.covers(Email.make(email)))

describe("the blacklist", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("covers an email address or all addresses of a domain", () =>
      Effect.gen(function* () {
        yield* add("bad@example.com")
        yield* add("@bad.example")
        expect(yield* covers("bad@example.com")).toBe(true)
        expect(yield* covers("good@example.com")).toBe(false)
        expect(yield* covers("any@bad.example")).toBe(true)
        expect(yield* covers("any@very.bad.example")).toBe(false)
        expect(yield* covers("bad@example.com.example")).toBe(false)
      })
    )

    it.effect("treats neither % nor _ in a pattern as a wildcard", () =>
      Effect.gen(function* () {
        yield* add("a%@wild.example")
        yield* add("a_@wild.example")
        expect(yield* covers("ab@wild.example")).toBe(false)
      })
    )

    it.effect("is listed sorted by pattern", () =>
      Effect.gen(function* () {
        yield* add("zz@listed.example")
        yield* add("@listed.example")
        const { list } = yield* Blacklist
        const patterns = (yield* list).map((entry) => entry.pattern)
        expect(patterns).toEqual([...patterns].sort())
        expect(patterns).toEqual(expect.arrayContaining(["zz@listed.example", "@listed.example"]))
      })
    )

    it.effect("stores a concurrently added pattern once", () =>
      Effect.gen(function* () {
        const [first, ...more] = yield* Effect.all(
          Array.from({ length: 20 }, () => add("once@example.com")),
          { concurrency: "unbounded" }
        )
        for (const entry of more) expect(entry).toEqual(first)
        expect(yield* Programme.audited("once@example.com")).toEqual([
          { ...Stores.operator, action: "blacklist.add", detail: {} }
        ])
      })
    )

    it.effect("does not cover an address after the removal of its pattern", () =>
      Effect.gen(function* () {
        const entry = yield* add("back@example.com")
        expect(yield* remove("back@example.com")).toEqual(entry)
        expect(yield* covers("back@example.com")).toBe(false)
        expect(yield* Effect.flip(remove("back@example.com"))).toEqual(
          new PatternNotListed({ pattern: "back@example.com" })
        )
        expect((yield* Programme.audited("back@example.com")).map(({ action }) => action)).toEqual([
          "blacklist.add",
          "blacklist.remove"
        ])
      })
    )

    it.effect("has alternating audit log entries after concurrent changes of a pattern", () =>
      Effect.gen(function* () {
        yield* Effect.all(
          Array.from({ length: 40 }, (_, i) =>
            i % 2 === 0 ? add("flip@example.com") : Effect.either(remove("flip@example.com"))
          ),
          { concurrency: "unbounded" }
        )
        const entries = (yield* Programme.audited("flip@example.com")).map(({ action }) => action)
        // Only changes are logged. The first one is an addition, because a removal without an entry changes nothing.
        expect(entries.length).toBeGreaterThan(0)
        expect(entries).toEqual(entries.map((_, i) => (i % 2 === 0 ? "blacklist.add" : "blacklist.remove")))
      })
    )
  })
})
