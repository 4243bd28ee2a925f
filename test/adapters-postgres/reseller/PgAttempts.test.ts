import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Attempts } from "@tollgate/application/reseller/ResellerAccess"
import {
  type AttemptWindow,
  type ClientAddress,
  loginWindows,
  signupWindows
} from "@tollgate/domain/reseller/AttemptLimit"
import type { Email } from "@tollgate/domain/validation/Email"
import { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import { Effect, Either } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"

let addresses = 0
const anAddress = () => `198.51.100.${++addresses}` as ClientAddress

const anAttempt = (address: ClientAddress = anAddress(), email: Email | undefined = Stores.anEmail()) =>
  loginWindows({ address, email })
const withoutEmail = (address: ClientAddress = anAddress()) => loginWindows({ address, email: undefined })

/** Makes these attempts, 40 at a time, on two nodes. Returns the number of allowed attempts. */
const race = (attempts: ReadonlyArray<ReadonlyArray<AttemptWindow>>) =>
  Effect.gen(function* () {
    const here = yield* Attempts
    const there = yield* Effect.provide(Attempts, yield* Programme.anotherNode)
    const outcomes = yield* Effect.forEach(
      attempts,
      (attempt, i) => Effect.either((i % 2 === 0 ? here : there).count(attempt)),
      { concurrency: 40 }
    )
    for (const refused of outcomes.filter(Either.isLeft)) expect(refused.left).toBeInstanceOf(RateLimited)
    return outcomes.filter(Either.isRight).length
  })

/** Makes all counted attempts one minute and two milliseconds older. */
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

describe("signups", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.scoped("are allowed exactly ten times an hour from one IP address", () =>
      Effect.gen(function* () {
        const from = signupWindows(anAddress())
        expect(yield* race(Array.from({ length: 40 }, () => from))).toBe(10)
        yield* aMinuteLater
        const there = yield* Effect.provide(Attempts, yield* Programme.anotherNode)
        const { retryAfterSeconds } = yield* Effect.flip(there.count(from))
        expect(retryAfterSeconds).toBeGreaterThan(3_500)
        expect(retryAfterSeconds).toBeLessThanOrEqual(3_541)
        yield* there.count(signupWindows(anAddress()))
      })
    )
  })
})

describe("login attempts", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.scoped("are allowed exactly five times for one email from one IP address", () =>
      Effect.gen(function* () {
        const attempt = anAttempt()
        expect(yield* race(Array.from({ length: 40 }, () => attempt))).toBe(5)
      })
    )

    it.scoped("are allowed exactly twenty times for one email from different IP addresses", () =>
      Effect.gen(function* () {
        const email = Stores.anEmail()
        expect(yield* race(Array.from({ length: 50 }, () => anAttempt(anAddress(), email)))).toBe(20)
      })
    )

    it.scoped("are allowed exactly sixty times for different emails from one IP address", () =>
      Effect.gen(function* () {
        const address = anAddress()
        expect(yield* race(Array.from({ length: 80 }, () => anAttempt(address)))).toBe(60)
      })
    )

    it.scoped("do not deadlock when concurrent attempts share emails and IP addresses", () =>
      Effect.gen(function* () {
        const emails = [Stores.anEmail(), Stores.anEmail(), Stores.anEmail()]
        const from = [anAddress(), anAddress(), anAddress()]
        const attempts = Array.from({ length: 120 }, (_, i) =>
          anAttempt(from[i % 3] as ClientAddress, emails[Math.trunc(i / 3) % 3])
        )
        // Each of the nine pairs of email and IP address is allowed five attempts. These are 15 attempts for each
        // email and for each IP address, fewer than the limits of 20 and 60.
        expect(yield* race(attempts)).toBe(45)
      })
    )

    it.effect("are allowed five times per IP address without a valid email", () =>
      Effect.gen(function* () {
        const { count } = yield* Attempts
        const attempt = withoutEmail()
        for (let i = 0; i < 5; i++) yield* count(attempt)
        expect((yield* Effect.flip(count(attempt))).retryAfterSeconds).toBeGreaterThan(50)
      })
    )

    it.effect("are not counted when they are refused", () =>
      Effect.gen(function* () {
        const { count } = yield* Attempts
        const address = anAddress()
        const attempt = anAttempt(address)
        for (let i = 0; i < 5; i++) yield* count(attempt)
        const before = yield* keys
        yield* Effect.flip(count(attempt))
        expect(yield* keys).toEqual(before)
        yield* count(anAttempt(address))
        expect((yield* keys).get(`login from ${address}`)).toBe(6n)
      })
    )

    it.effect("are allowed again after one minute", () =>
      Effect.gen(function* () {
        const { count } = yield* Attempts
        const email = Stores.anEmail()
        const attempt = anAttempt(anAddress(), email)
        for (let i = 0; i < 5; i++) yield* count(attempt)
        yield* aMinuteLater
        yield* count(attempt)
        expect((yield* keys).get(`login as ${email}`)).toBe(1n)
      })
    )

    it.scoped("are refused without a statement after a first refusal", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { count } = yield* Attempts
        const address = anAddress()
        for (let i = 0; i < 60; i++) yield* count(anAttempt(address))
        const first = yield* Effect.flip(count(anAttempt(address)))
        // According to the database the attempt is now allowed, but the node does not read the database.
        yield* sql`DELETE FROM login_window`
        const { retryAfterSeconds } = yield* Effect.flip(count(anAttempt(address)))
        expect(retryAfterSeconds).toBeGreaterThan(first.retryAfterSeconds - 10)
        expect(retryAfterSeconds).toBeLessThanOrEqual(first.retryAfterSeconds)
        const there = yield* Effect.provide(Attempts, yield* Programme.anotherNode)
        yield* there.count(anAttempt(address))
        yield* count(anAttempt())
      })
    )

    it.effect("delete the expired rows of earlier attempts", () =>
      Effect.gen(function* () {
        const { count } = yield* Attempts
        for (let i = 0; i < 12; i++) yield* count(anAttempt())
        yield* aMinuteLater
        const many = (yield* keys).size
        expect(many).toBeGreaterThanOrEqual(36)
        for (let i = 0; i < Math.ceil(many / 10); i++) yield* count(withoutEmail())
        const remaining = yield* keys
        expect([...remaining.values()].every((hits) => hits === 1n)).toBe(true)
        expect(remaining.size).toBe(2 * Math.ceil(many / 10))
      })
    )
  })
})
