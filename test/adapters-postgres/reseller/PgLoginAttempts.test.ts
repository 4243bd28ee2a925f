import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { LoginAttempts } from "@tollgate/application/reseller/ResellerAccess"
import type { ClientAddress } from "@tollgate/domain/reseller/LoginLimit"
import type { Email } from "@tollgate/domain/validation/Email"
import { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import { Effect, Either } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"

let addresses = 0
const anAddress = () => `198.51.100.${++addresses}` as ClientAddress

interface Attempt {
  readonly address: ClientAddress
  readonly email: Email | undefined
}

/** Makes these attempts concurrently on two nodes. Returns the number of allowed attempts. */
const race = (attempts: ReadonlyArray<Attempt>) =>
  Effect.gen(function* () {
    const here = yield* LoginAttempts
    const there = yield* Effect.provide(LoginAttempts, yield* Programme.anotherNode)
    const outcomes = yield* Effect.forEach(
      attempts,
      (attempt, i) => Effect.either((i % 2 === 0 ? here : there).count(attempt)),
      { concurrency: 40 }
    )
    for (const refused of outcomes.filter(Either.isLeft)) expect(refused.left).toBeInstanceOf(RateLimited)
    return outcomes.filter(Either.isRight).length
  })

/** Makes all counted attempts one minute older. */
const aMinuteLater = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`UPDATE login_window SET counts_until = counts_until - interval '60002 ms',
    hits = ARRAY(SELECT hit - interval '60002 ms' FROM unnest(hits) AS hit)`
).pipe(Effect.orDie)

const keys = Effect.map(
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ key: string; hits: bigint }>`
    SELECT key, cardinality(hits)::bigint AS hits FROM login_window`
  ),
  (rows) => new Map(rows.map(({ key, hits }) => [key, hits]))
).pipe(Effect.orDie)

describe("login attempts in Postgres", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.scoped(
      "are allowed exactly five times when many attempts run concurrently for one email from one IP address on two nodes",
      () =>
        Effect.gen(function* () {
          const attempt = { address: anAddress(), email: Stores.anEmail() }
          expect(yield* race(Array.from({ length: 40 }, () => attempt))).toBe(5)
        })
    )

    it.scoped("are allowed exactly twenty times for one email from different IP addresses", () =>
      Effect.gen(function* () {
        const email = Stores.anEmail()
        expect(yield* race(Array.from({ length: 50 }, () => ({ address: anAddress(), email })))).toBe(20)
      })
    )

    it.scoped("are allowed exactly sixty times for different emails from one IP address", () =>
      Effect.gen(function* () {
        const address = anAddress()
        expect(yield* race(Array.from({ length: 80 }, () => ({ address, email: Stores.anEmail() })))).toBe(60)
      })
    )

    it.scoped(
      "neither deadlock nor exceed the limits when concurrent attempts use all pairs of 3 emails and 3 IP addresses",
      () =>
        Effect.gen(function* () {
          const emails = [Stores.anEmail(), Stores.anEmail(), Stores.anEmail()]
          const from = [anAddress(), anAddress(), anAddress()]
          const attempts = Array.from({ length: 120 }, (_, i) => ({
            address: from[i % 3] as ClientAddress,
            email: emails[Math.trunc(i / 3) % 3]
          }))
          // Each of the nine pairs of email and IP address is allowed five attempts. These are 15 attempts for each
          // email and for each IP address, fewer than the limits of 20 and 60.
          expect(yield* race(attempts)).toBe(45)
        })
    )

    it.effect("are allowed five times per client IP address when the email is not valid", () =>
      Effect.gen(function* () {
        const { count } = yield* LoginAttempts
        const attempt = { address: anAddress(), email: undefined }
        for (let i = 0; i < 5; i++) yield* count(attempt)
        expect((yield* Effect.flip(count(attempt))).retryAfterSeconds).toBeGreaterThan(50)
      })
    )

    it.effect("are not counted when they are refused", () =>
      Effect.gen(function* () {
        const { count } = yield* LoginAttempts
        const attempt = { address: anAddress(), email: Stores.anEmail() }
        for (let i = 0; i < 5; i++) yield* count(attempt)
        const before = yield* keys
        yield* Effect.flip(count(attempt))
        expect(yield* keys).toEqual(before)
        yield* count({ ...attempt, email: Stores.anEmail() })
        expect((yield* keys).get(`login from ${attempt.address}`)).toBe(6n)
      })
    )

    it.effect("are allowed again when all counted attempts are more than one minute old", () =>
      Effect.gen(function* () {
        const { count } = yield* LoginAttempts
        const attempt = { address: anAddress(), email: Stores.anEmail() }
        for (let i = 0; i < 5; i++) yield* count(attempt)
        yield* Effect.flip(count(attempt))
        yield* aMinuteLater
        yield* count(attempt)
        expect((yield* keys).get(`login as ${attempt.email}`)).toBe(1n)
      })
    )

    it.effect("delete the expired rows of earlier attempts", () =>
      Effect.gen(function* () {
        const { count } = yield* LoginAttempts
        for (let i = 0; i < 12; i++) yield* count({ address: anAddress(), email: Stores.anEmail() })
        yield* aMinuteLater
        const many = (yield* keys).size
        expect(many).toBeGreaterThanOrEqual(36)
        for (let i = 0; i < Math.ceil(many / 10); i++) yield* count({ address: anAddress(), email: undefined })
        const left = yield* keys
        expect([...left.values()].every((hits) => hits === 1n)).toBe(true)
        expect(left.size).toBe(2 * Math.ceil(many / 10))
      })
    )
  })
})
