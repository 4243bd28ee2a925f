import { describe, expect, layer } from "@effect/vitest"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { ResellerId, ResellerNotFound } from "@tollgate/domain/reseller/Reseller"
import { ReviewRefused } from "@tollgate/domain/reseller/Review"
import { EmailExists } from "@tollgate/domain/reseller/Signup"
import { Effect, Either, Option, Redacted } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"

const UNKNOWN_RESELLER = ResellerId.make("0193a5c2-0000-7000-8000-000000000000")

const review = (id: ResellerId, move: "approve" | "reject" | "suspend" | "reactivate") =>
  Effect.flatMap(Resellers, (resellers) => resellers.review(id, move, Stores.operator))

describe("resellers", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("are pending when they are created", () =>
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

    it.scoped("are created once by forty concurrent signups with one email", () =>
      Effect.gen(function* () {
        const email = Stores.anEmail()
        const here = yield* Resellers
        const there = yield* Effect.provide(Resellers, yield* Programme.anotherNode)
        const newReseller = { email, name: "Toko", waNumber: "628123456789", passwordHash: Programme.passwordHash }
        const outcomes = yield* Effect.all(
          Array.from({ length: 40 }, (_, i) => Effect.either((i % 2 === 0 ? here : there).create(newReseller))),
          { concurrency: "unbounded" }
        )
        const [created, ...more] = outcomes.filter(Either.isRight)
        expect(more).toEqual([])
        for (const outcome of outcomes.filter(Either.isLeft)) expect(outcome.left).toEqual(new EmailExists())
        expect(yield* here.find(created?.right.id ?? UNKNOWN_RESELLER)).toEqual(Option.fromNullable(created?.right))
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.effect("have a redacted password hash in the result of the credentials lookup", () =>
      Effect.gen(function* () {
        const resellers = yield* Resellers
        const reseller = yield* Programme.anApplicant()
        const found = Option.getOrThrow(yield* resellers.credentials(reseller.email))
        expect(found.reseller).toEqual(reseller)
        expect(Redacted.value(found.passwordHash)).toBe(Redacted.value(Programme.passwordHash))
        expect(JSON.stringify(found)).not.toContain("argon2id")
        expect(yield* resellers.credentials(Stores.anEmail())).toEqual(Option.none())
        expect(yield* resellers.find(UNKNOWN_RESELLER)).toEqual(Option.none())
      })
    )

    it.effect("are found by id or by email", () =>
      Effect.gen(function* () {
        const { named } = yield* Resellers
        const reseller = yield* Programme.anApplicant()
        expect(yield* named(reseller.id.toUpperCase())).toEqual(reseller)
        expect(yield* named(` ${reseller.email.toUpperCase()} `)).toEqual(reseller)
        for (const text of [UNKNOWN_RESELLER, Stores.anEmail(), "toko", "", "' OR true --", "0193a5c2"]) {
          expect(yield* Effect.flip(named(text))).toEqual(new ResellerNotFound({ reseller: text }))
        }
      })
    )

    it.effect("are listed newest first", () =>
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

    it.effect("change their status at a review", () =>
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

    it.effect("get no audit log entry for a refused review", () =>
      Effect.gen(function* () {
        const { id } = yield* Programme.anApplicant()
        yield* review(id, "reject")
        expect(yield* review(id, "reject")).toMatchObject({ status: "rejected" })
        expect(yield* Effect.flip(review(id, "suspend"))).toEqual(
          new ReviewRefused({ move: "suspend", status: "rejected" })
        )
        expect(yield* Effect.flip(review(UNKNOWN_RESELLER, "approve"))).toEqual(
          new ResellerNotFound({ reseller: UNKNOWN_RESELLER })
        )
        expect(yield* Programme.audited(id)).toHaveLength(1)
        expect(yield* Programme.audited(UNKNOWN_RESELLER)).toHaveLength(0)
      })
    )

    it.effect("are suspended once by twenty concurrent suspensions", () =>
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
