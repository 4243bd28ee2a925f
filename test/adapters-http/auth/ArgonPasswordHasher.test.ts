import { parseOptions } from "@node-rs/argon2"
import * as ArgonPasswordHasher from "@tollgate/adapters-http/auth/ArgonPasswordHasher"
import { type HashingQueue, PasswordHash, type PasswordHasher } from "@tollgate/application/reseller/PasswordHasher"
import type { ClientAddress } from "@tollgate/domain/reseller/AttemptLimit"
import { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import { Cause, Effect, Either, Exit, Fiber, Option, Redacted, Scope } from "effect"
import { afterAll, describe, expect, it } from "vitest"

/** Parameters of cheap hashes, which keep the tests fast. */
const cheap = { memoryKib: 64, passes: 1 }
const password = Redacted.make("correct horse battery")

const run = Effect.runPromise
const scope = Effect.runSync(Scope.make())
afterAll(() => run(Scope.close(scope, Exit.void)))
const hasherWith = (options: Partial<ArgonPasswordHasher.ArgonOptions> = {}) =>
  Effect.runSync(Scope.extend(ArgonPasswordHasher.make(options), scope))

describe("the password hasher", () => {
  it("hashes each password with argon2id and a new salt", async () => {
    const hasher = hasherWith()
    const [one, two] = await run(Effect.all([hasher.hash("signup", password), hasher.hash("signup", password)]))
    expect(Redacted.value(one)).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(Redacted.value(two)).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(Redacted.value(two).split("$")[4]).not.toBe(Redacted.value(one).split("$")[4])
    expect(String(one)).not.toContain("argon2id")
    expect(await run(hasher.verify(password, one))).toBe(true)
    expect(await run(hasher.verify(Redacted.make("correct horse batterz"), one))).toBe(false)
  })

  it("verifies a hash with the parameters that the hash contains", async () => {
    const before = hasherWith(cheap)
    const after = hasherWith({ memoryKib: 128, passes: 2 })
    expect(await run(after.verify(password, await run(before.hash("signup", password))))).toBe(true)
  })

  it("refuses a password if there is no stored hash", async () => {
    const hasher = hasherWith(cheap)
    expect(await run(hasher.verify(password, undefined))).toBe(false)
    expect(await run(hasher.verify(Redacted.make(""), undefined))).toBe(false)
  })

  it("treats a malformed stored hash as a defect", async () => {
    const hasher = hasherWith(cheap)
    const exit = await Effect.runPromiseExit(hasher.verify(password, PasswordHash(Redacted.make("garbage"))))
    expect(Exit.isFailure(exit) && Cause.isDie(exit.cause)).toBe(true)
  })
})

const client = (name: string) => name as ClientAddress
/** Enters the queue, hashes the password and leaves the queue, as a signup does. */
const hashFor = (hasher: PasswordHasher["Type"], name: string) =>
  Effect.scoped(Effect.zipRight(hasher.enter("signup", client(name)), hasher.hash("signup", password)))

describe("the queue of the password hasher", () => {
  it("gives one client at most half of the places", async () => {
    const hasher = hasherWith({ memoryKib: 4_096, passes: 2, places: 6 })
    const hashes = (count: number) => Array.from({ length: count }, () => Effect.either(hashFor(hasher, "one")))
    const results = await run(Effect.all(hashes(10), { concurrency: "unbounded" }))
    expect(results.filter(Either.isRight)).toHaveLength(3)
    const refusals = results.filter(Either.isLeft)
    expect(refusals.map(({ left }) => left)).toEqual(Array(7).fill(new RateLimited({ retryAfterSeconds: 1 })))
    expect(parseOptions(Redacted.value(await run(hashFor(hasher, "one")))).memoryCost).toBe(4_096)
  })

  it("accepts another client when one client has used its share", async () => {
    const hasher = hasherWith({ ...cheap, places: 6 })
    const enters = (queue: HashingQueue, name: string) => Effect.either(hasher.enter(queue, client(name)))
    await run(
      Effect.scoped(
        Effect.gen(function* () {
          for (let i = 0; i < 6; i++) yield* enters("login", "flood")
          expect(Either.isLeft(yield* enters("login", "flood"))).toBe(true)
          expect(Either.isRight(yield* enters("login", "another"))).toBe(true)
          for (let i = 0; i < 3; i++) expect(Either.isRight(yield* enters("signup", "flood"))).toBe(true)
        })
      )
    )
  })

  it("states in advance whether a request would be refused", async () => {
    const hasher = hasherWith({ ...cheap, places: 2 })
    const refused = new RateLimited({ retryAfterSeconds: 1 })
    const refusals = (expected = 0) => [
      hasher.refusalFor("login", client("one"), expected),
      hasher.refusalFor("login", client("two"), expected),
      hasher.refusalFor("signup", client("one"), expected)
    ]
    const enter = (name: string) => hasher.enter("login", client(name))
    await run(
      Effect.scoped(
        Effect.gen(function* () {
          expect(refusals()).toEqual([undefined, undefined, undefined])
          yield* enter("one")
          expect(refusals()).toEqual([refused, undefined, undefined])
          expect(refusals(1)).toEqual([refused, refused, undefined])
          yield* enter("two")
          expect(refusals()).toEqual([refused, refused, undefined])
        })
      )
    )
    expect(refusals()).toEqual([undefined, undefined, undefined])
  })

  it("runs a login while signups wait", async () => {
    const hasher = hasherWith({ memoryKib: 16_384, passes: 2, running: { login: 1, signup: 1 } })
    const stored = await run(hasherWith(cheap).hash("signup", password))
    const ended: Array<string> = []
    const ends = (name: string, work: Effect.Effect<unknown>) =>
      Effect.zipRight(
        work,
        Effect.sync(() => ended.push(name))
      )
    const signups = Array.from({ length: 12 }, () => ends("signup", hasher.hash("signup", password)))
    await run(Effect.all([...signups, ends("login", hasher.verify(password, stored))], { concurrency: "unbounded" }))
    expect(ended.at(-1)).toBe("signup")
  })

  it("runs a change of a password while signups wait", async () => {
    const hasher = hasherWith({ memoryKib: 16_384, passes: 2, running: { login: 1, signup: 1 } })
    const ended: Array<string> = []
    const ends = (queue: HashingQueue) =>
      Effect.zipRight(
        hasher.hash(queue, password),
        Effect.sync(() => ended.push(queue))
      )
    const signups = Array.from({ length: 12 }, () => ends("signup"))
    await run(Effect.all([...signups, ends("login")], { concurrency: "unbounded" }))
    expect(ended.at(-1)).toBe("signup")
  })

  it("serves a request that arrives while an interrupted request still runs", async () => {
    const hasher = hasherWith({ memoryKib: 65_536, passes: 3, running: { login: 1, signup: 1 } })
    const eventLoopTurn = Effect.promise(() => new Promise(setImmediate))
    await run(
      Effect.gen(function* () {
        const interrupted = yield* Effect.fork(hasher.hash("signup", password))
        yield* Effect.yieldNow()
        yield* Fiber.interruptFork(interrupted)
        yield* eventLoopTurn
        const next = yield* Effect.fork(hasher.hash("signup", password))
        yield* eventLoopTurn
        expect(Option.isNone(yield* Fiber.poll(interrupted))).toBe(true)
        yield* Fiber.await(interrupted)
        yield* Fiber.join(next)
      })
    )
  })

  it("releases the place of a waiting request that is interrupted", async () => {
    const hasher = hasherWith({ memoryKib: 4_096, passes: 2, places: 2, running: { login: 1, signup: 1 } })
    await run(
      Effect.gen(function* () {
        const running = yield* Effect.fork(hashFor(hasher, "one"))
        const waiting = yield* Effect.fork(hashFor(hasher, "two"))
        yield* Effect.yieldNow()
        expect(Either.isLeft(yield* Effect.either(hashFor(hasher, "three")))).toBe(true)
        yield* Fiber.interrupt(waiting)
        expect(Either.isRight(yield* Effect.either(hashFor(hasher, "three")))).toBe(true)
        yield* Fiber.await(running)
      })
    )
  })
})
