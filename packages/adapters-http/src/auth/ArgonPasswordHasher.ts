/**
 * Hashes passwords with argon2id. A hash is stored as a PHC string, which contains the hash and its parameters.
 *
 * Each running hash occupies memory and a CPU core. Therefore the numbers of running and waiting hashes are limited,
 * and further requests are refused, so that password hashing cannot starve the rest of the service. If no reseller has
 * the given email, the password is verified against a random hash, so that the response takes as long as for a known
 * email.
 */
import { randomBytes } from "node:crypto"
import { availableParallelism } from "node:os"
import { hash, type Options, verify } from "@node-rs/argon2"
import { PasswordHash, PasswordHasher } from "@tollgate/application/reseller/PasswordHasher"
import { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

export interface ArgonOptions {
  readonly memoryKib: number
  readonly passes: number
  readonly lanes: number
  /** Maximum number of hashes that run concurrently. */
  readonly running: number
  /** Maximum number of hashes that wait in the queue. */
  readonly waiting: number
}

/** Default size of the thread pool of Node.js. Each running hash occupies one thread of the pool. */
const MAX_THREADS = 4

export const defaults: ArgonOptions = {
  memoryKib: 19_456,
  passes: 2,
  lanes: 1,
  running: Math.min(availableParallelism(), MAX_THREADS),
  waiting: 64
}

const RETRY_AFTER_SECONDS = 1
/**
 * Value of `Algorithm.Argon2id`. The library declares `Algorithm` as a const enum, which does not exist at run time.
 */
const ARGON2ID = 2

export const make = (options: Partial<ArgonOptions> = {}): Effect.Effect<Context.Tag.Service<PasswordHasher>> =>
  Effect.gen(function* () {
    const { memoryKib, passes, lanes, running, waiting } = { ...defaults, ...options }
    const parameters: Options = {
      algorithm: ARGON2ID,
      memoryCost: memoryKib,
      timeCost: passes,
      parallelism: lanes
    }
    const unmatchableHash = `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${phc(16)}$${phc(32)}`
    const slots = yield* Effect.makeSemaphore(running)
    let requests = 0

    /**
     * Runs `work` in one of the limited slots. The slot is released only when `work` ends, even if the request is
     * interrupted before, because the thread is busy until then.
     */
    const inSlot = <A>(work: () => Promise<A>): Effect.Effect<A, RateLimited> =>
      Effect.suspend(() => {
        if (requests >= running + waiting)
          return Effect.fail(new RateLimited({ retryAfterSeconds: RETRY_AFTER_SECONDS }))
        requests += 1
        return Effect.ensuring(
          slots.withPermits(1)(Effect.uninterruptible(Effect.promise(work))),
          Effect.sync(() => {
            requests -= 1
          })
        )
      })

    return {
      hash: (password) =>
        Effect.map(
          inSlot(() => hash(Redacted.value(password), parameters)),
          (text) => PasswordHash(Redacted.make(text))
        ),
      verify: (password, known) =>
        Effect.map(
          inSlot(() => verify(known === undefined ? unmatchableHash : Redacted.value(known), Redacted.value(password))),
          (matches) => matches && known !== undefined
        )
    }
  })

export const layer = (options: Partial<ArgonOptions> = {}): Layer.Layer<PasswordHasher> =>
  Layer.effect(PasswordHasher, make(options))

/** Returns this number of random bytes as base64 without padding, which is the encoding in PHC strings. */
const phc = (bytes: number): string => randomBytes(bytes).toString("base64").replaceAll("=", "")
