import { describe, expect, layer } from "@effect/vitest"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { ResellerId, ResellerNotFound } from "@tollgate/domain/reseller/Reseller"
import { ReviewRefused } from "@tollgate/domain/reseller/Review"
import { EmailExists } from "@tollgate/domain/reseller/Signup"
import { Effect, Either, Option, Redacted } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"

const NOBODY = ResellerId.make("0193a5c2-0000-7000-8000-000000000000")

const review = (id: ResellerId, move: "approve" | "reject" | "suspend" | "reactivate") =>
  Effect.flatMap(Resellers, (resellers) => resellers.review(id, move, Stores.operator))

describe("resellers in Postgres", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("somebody who signs up is pending and has an empty quota", () =>
      Effect.gen(function* () {
        const reseller = yield* Programme.anApplicant()
        expect(reseller).toMatchObject({
          name: "Toko Token",
          waNumber: "628123456789",
          status: "pending",
          tokenVersion: 0
        })
        expect(yield* Programme.balance(reseller.id)).toBe(0n)
        expect(yield* (yield* Resellers).find(reseller.id)).toEqual(Option.some(reseller))
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("of forty who sign up at once with one email, on two nodes, exactly one is taken", () =>
      Effect.gen(function* () {
        const email = Stores.anEmail()
        const here = yield* Resellers
        const there = yield* Effect.provide(Resellers, yield* Programme.anotherNode)
        const someone = { email, name: "Toko", waNumber: "628123456789", passwordHash: Programme.passwordHash }
        const outcomes = yield* Effect.all(
          Array.from({ length: 40 }, (_, i) => Effect.either((i % 2 === 0 ? here : there).create(someone))),
          { concurrency: "unbounded" }
        )
        const [taken, ...more] = outcomes.filter(Either.isRight)
        expect(more).toEqual([])
        for (const outcome of outcomes.filter(Either.isLeft)) expect(outcome.left).toEqual(new EmailExists())
        expect(yield* here.find(taken?.right.id ?? NOBODY)).toEqual(Option.fromNullable(taken?.right))
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.effect("the hash of the password comes back with the email, and only there", () =>
      Effect.gen(function* () {
        const resellers = yield* Resellers
        const reseller = yield* Programme.anApplicant()
        const found = Option.getOrThrow(yield* resellers.credentials(reseller.email))
        expect(found.reseller).toEqual(reseller)
        expect(Redacted.value(found.passwordHash)).toBe(Redacted.value(Programme.passwordHash))
        expect(JSON.stringify(found)).not.toContain("argon2id")
        expect(yield* resellers.credentials(Stores.anEmail())).toEqual(Option.none())
        expect(yield* resellers.find(NOBODY)).toEqual(Option.none())
      })
    )

    it.effect("an operator names a reseller by id or email as they come, and by nothing else", () =>
      Effect.gen(function* () {
        const { named } = yield* Resellers
        const reseller = yield* Programme.anApplicant()
        expect(yield* named(reseller.id.toUpperCase())).toEqual(reseller)
        expect(yield* named(` ${reseller.email.toUpperCase()} `)).toEqual(reseller)
        for (const text of [NOBODY, Stores.anEmail(), "toko", "", "' OR true --", "0193a5c2"]) {
          expect(yield* Effect.flip(named(text))).toEqual(new ResellerNotFound({ reseller: text }))
        }
      })
    )

    it.effect("are listed newest first, all or those of one status", () =>
      Effect.gen(function* () {
        const { list } = yield* Resellers
        const first = yield* Programme.anApplicant()
        const second = yield* Programme.aReseller()
        const third = yield* Programme.anApplicant()
        const ours = (all: ReadonlyArray<{ id: ResellerId }>) =>
          all.map(({ id }) => id).filter((id) => [first.id, second.id, third.id].includes(id))
        expect(ours(yield* list(undefined))).toEqual([third.id, second.id, first.id])
        expect(ours(yield* list("pending"))).toEqual([third.id, first.id])
        expect(ours(yield* list("active"))).toEqual([second.id])
        expect(ours(yield* list("suspended"))).toEqual([])
      })
    )

    it.effect("a review moves the reseller and says in the audit log who did it and why", () =>
      Effect.gen(function* () {
        const { id, email } = yield* Programme.anApplicant()
        expect(yield* review(id, "approve")).toMatchObject({ status: "active", tokenVersion: 0 })
        expect(yield* review(id, "suspend")).toMatchObject({ status: "suspended", tokenVersion: 1 })
        const back = yield* review(id, "reactivate")
        expect(back).toMatchObject({ status: "active", tokenVersion: 1 })
        expect(yield* (yield* Resellers).find(id)).toEqual(Option.some(back))
        const entry = (move: string, status_before: string, status: string) => ({
          ...Stores.operator,
          action: `reseller.${move}`,
          detail: { email, status_before, status }
        })
        expect(yield* Programme.audited(id)).toEqual([
          entry("approve", "pending", "active"),
          entry("suspend", "active", "suspended"),
          entry("reactivate", "suspended", "active")
        ])
      })
    )

    it.effect("a review that changes nothing, or is refused, leaves no entry", () =>
      Effect.gen(function* () {
        const { id } = yield* Programme.anApplicant()
        yield* review(id, "reject")
        expect(yield* review(id, "reject")).toMatchObject({ status: "rejected" })
        expect(yield* Effect.flip(review(id, "suspend"))).toEqual(
          new ReviewRefused({ move: "suspend", status: "rejected" })
        )
        expect(yield* Effect.flip(review(NOBODY, "approve"))).toEqual(new ResellerNotFound({ reseller: NOBODY }))
        expect(yield* Programme.audited(id)).toHaveLength(1)
        expect(yield* Programme.audited(NOBODY)).toHaveLength(0)
      })
    )

    it.effect("twenty suspensions at once suspend once", () =>
      Effect.gen(function* () {
        const { id } = yield* Programme.aReseller()
        const outcomes = yield* Effect.all(
          Array.from({ length: 20 }, () => review(id, "suspend")),
          { concurrency: "unbounded" }
        )
        expect(new Set(outcomes.map(({ tokenVersion }) => tokenVersion))).toEqual(new Set([1]))
        expect(yield* Programme.audited(id)).toHaveLength(2)
      })
    )
  })
})
