/**
 * Passwords under argon2id, stored as PHC text with their parameters.
 *
 * A hash costs memory and a core for its time, so only a few run at once and only some may wait: whoever asks for more
 * is refused, and the rest of the service does not starve. Nothing is verified against a hash that nobody's password
 * has, at the cost of a real one.
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
  /** Hashes at a time. */
  readonly running: number
  /** Hashes that may wait for their turn. */
  readonly waiting: number
}

/** The pool of threads that Node lends to such work has four. */
const MOST_THREADS = 4

export const defaults: ArgonOptions = {
  memoryKib: 19_456,
  passes: 2,
  lanes: 1,
  running: Math.min(availableParallelism(), MOST_THREADS),
  waiting: 64
}

const RETRY_AFTER_SECONDS = 1
/** The library declares its algorithms as an enum that only exists for the compiler. */
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
    const nobodysHash = `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${phc(16)}$${phc(32)}`
    const turns = yield* Effect.makeSemaphore(running)
    let asked = 0

    /** A hash that has begun holds its turn to the end, also when nobody waits for it any more. */
    const inTurn = <A>(work: () => Promise<A>): Effect.Effect<A, RateLimited> =>
      Effect.suspend(() => {
        if (asked >= running + waiting) return Effect.fail(new RateLimited({ retryAfterSeconds: RETRY_AFTER_SECONDS }))
        asked += 1
        return Effect.ensuring(
          turns.withPermits(1)(Effect.uninterruptible(Effect.promise(work))),
          Effect.sync(() => {
            asked -= 1
          })
        )
      })

    return {
      hash: (password) =>
        Effect.map(
          inTurn(() => hash(Redacted.value(password), parameters)),
          (text) => PasswordHash(Redacted.make(text))
        ),
      verify: (password, known) =>
        Effect.map(
          inTurn(() => verify(known === undefined ? nobodysHash : Redacted.value(known), Redacted.value(password))),
          (matches) => matches && known !== undefined
        )
    }
  })

export const layer = (options: Partial<ArgonOptions> = {}): Layer.Layer<PasswordHasher> =>
  Layer.effect(PasswordHasher, make(options))

/** Random bytes as PHC text has them: base64 without padding. */
const phc = (bytes: number): string => randomBytes(bytes).toString("base64").replaceAll("=", "")
