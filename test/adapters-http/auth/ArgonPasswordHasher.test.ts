import { parseOptions } from "@node-rs/argon2"
import * as ArgonPasswordHasher from "@tollgate/adapters-http/auth/ArgonPasswordHasher"
import { PasswordHash } from "@tollgate/application/reseller/PasswordHasher"
import { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import { Cause, Effect, Either, Exit, Fiber, Redacted } from "effect"
import { describe, expect, it } from "vitest"

/** Parameters of cheap hashes, which keep the tests fast. */
const cheap = { memoryKib: 64, passes: 1 }
const password = Redacted.make("correct horse battery")

const run = Effect.runPromise

describe("the password hasher", () => {
  it("returns argon2id hashes, each with its parameters and a new salt", async () => {
    const hasher = await run(ArgonPasswordHasher.make())
    const [one, two] = await run(Effect.all([hasher.hash(password), hasher.hash(password)]))
    expect(Redacted.value(one)).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(Redacted.value(two)).not.toBe(Redacted.value(one))
    expect(String(one)).not.toContain("argon2id")
    expect(await run(hasher.verify(password, one))).toBe(true)
    expect(await run(hasher.verify(Redacted.make("correct horse batterz"), one))).toBe(false)
  })

  it("verifies a hash with the parameters that the hash contains", async () => {
    const before = await run(ArgonPasswordHasher.make(cheap))
    const after = await run(ArgonPasswordHasher.make({ memoryKib: 128, passes: 2 }))
    expect(await run(after.verify(password, await run(before.hash(password))))).toBe(true)
  })

  it("refuses every password if there is no stored hash", async () => {
    const hasher = await run(ArgonPasswordHasher.make(cheap))
    expect(await run(hasher.verify(password, undefined))).toBe(false)
    expect(await run(hasher.verify(Redacted.make(""), undefined))).toBe(false)
  })

  it("treats a malformed hash as a defect, not as a wrong password", async () => {
    const hasher = await run(ArgonPasswordHasher.make(cheap))
    const exit = await Effect.runPromiseExit(hasher.verify(password, PasswordHash(Redacted.make("garbage"))))
    expect(Exit.isFailure(exit) && Cause.isDie(exit.cause)).toBe(true)
  })
})

describe("the queue of the password hasher", () => {
  it("refuses requests while all running and waiting slots are taken, and accepts requests again later", async () => {
    const hasher = await run(ArgonPasswordHasher.make({ memoryKib: 4_096, passes: 2, running: 1, waiting: 2 }))
    const outcomes = await run(
      Effect.all(
        Array.from({ length: 10 }, () => Effect.either(hasher.hash(password))),
        { concurrency: "unbounded" }
      )
    )
    expect(outcomes.filter(Either.isRight)).toHaveLength(3)
    const refusals = outcomes.filter(Either.isLeft)
    expect(refusals.map(({ left }) => left)).toEqual(Array(7).fill(new RateLimited({ retryAfterSeconds: 1 })))
    expect(parseOptions(Redacted.value(await run(hasher.hash(password)))).memoryCost).toBe(4_096)
  })

  it("keeps the slot of an interrupted request until the hash is finished", async () => {
    const hasher = await run(ArgonPasswordHasher.make({ memoryKib: 65_536, passes: 3, running: 1, waiting: 0 }))
    const aTurnOfTheLoop = Effect.promise(() => new Promise(setImmediate))
    await run(
      Effect.gen(function* () {
        const leaving = yield* Effect.fork(hasher.hash(password))
        yield* Effect.yieldNow()
        yield* Fiber.interruptFork(leaving)
        yield* aTurnOfTheLoop
        expect(Either.isLeft(yield* Effect.either(hasher.hash(password)))).toBe(true)
        yield* Fiber.await(leaving)
        expect(Either.isRight(yield* Effect.either(hasher.hash(password)))).toBe(true)
      })
    )
  })

  it("releases the waiting slot of a request that is interrupted while it waits", async () => {
    const hasher = await run(ArgonPasswordHasher.make({ memoryKib: 4_096, passes: 2, running: 1, waiting: 1 }))
    await run(
      Effect.gen(function* () {
        const running = yield* Effect.fork(hasher.hash(password))
        const waiting = yield* Effect.fork(hasher.hash(password))
        yield* Effect.yieldNow()
        expect(Either.isLeft(yield* Effect.either(hasher.hash(password)))).toBe(true)
        yield* Fiber.interrupt(waiting)
        expect(Either.isRight(yield* Effect.either(hasher.hash(password)))).toBe(true)
        yield* Fiber.await(running)
      })
    )
  })
})
