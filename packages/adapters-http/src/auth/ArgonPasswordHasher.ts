/**
 * Hashes passwords with argon2id. A hash is stored as a PHC string, which contains the hash and its parameters.
 *
 * Each running hash occupies memory and a CPU core. Therefore the number of hashes that run or wait is limited, and
 * requests above the limit are refused, so that the other requests of the service get processor time and memory. One
 * client cannot take all places in a queue. If no reseller has the given email, the password is verified against a
 * random hash, so that the response takes as long as for a known email.
 */
import { randomBytes } from "node:crypto"
import { availableParallelism } from "node:os"
import type { Options } from "@node-rs/argon2"
import { FifoSemaphore } from "@tollgate/application/operations/FifoSemaphore"
import { Shares } from "@tollgate/application/operations/Shares"
import { type HashingQueue, PasswordHash, PasswordHasher } from "@tollgate/application/reseller/PasswordHasher"
import type { ClientAddress } from "@tollgate/domain/reseller/AttemptLimit"
import { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { HashingThread } from "./HashingThread.ts"

export interface ArgonOptions {
  readonly memoryKib: number
  readonly passes: number
  readonly lanes: number
  /** Maximum number of hashes of each queue that run concurrently. */
  readonly running: Readonly<Record<HashingQueue, number>>
  /** Maximum number of requests in each queue, running or waiting. The places are divided between the clients. */
  readonly places: number
}

export const defaults: ArgonOptions = {
  memoryKib: 19_456,
  passes: 2,
  lanes: 1,
  // Each running hash occupies one thread. On Linux the thread has a low priority, so it mostly uses processor time
  // that other threads do not need.
  running: { login: availableParallelism() > 2 ? 2 : 1, signup: 1 },
  // Few requests may wait: the garbage collector copies their memory, and each copy delays other requests.
  places: 32
}

const noPlace = new RateLimited({ retryAfterSeconds: 1 })
/**
 * The pause of a thread after a hash that did not fail, as a multiple of the hash's duration. With 3, a full queue uses
 * about a quarter of a processor core for each of its threads.
 */
const PAUSES_PER_HASH = 3
/**
 * Value of `Algorithm.Argon2id`. The package `@node-rs/argon2` declares `Algorithm` as a const enum, which does not
 * exist at run time.
 */
const ARGON2ID = 2

/** The threads of the hasher end when the scope closes. */
export const make = (
  options: Partial<ArgonOptions> = {}
): Effect.Effect<Context.Tag.Service<PasswordHasher>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { memoryKib, passes, lanes, running, places } = { ...defaults, ...options }
    const parameters: Options = {
      algorithm: ARGON2ID,
      memoryCost: memoryKib,
      timeCost: passes,
      parallelism: lanes
    }
    const unmatchableHash = `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${phc(16)}$${phc(32)}`
    const queues = {
      login: { places: new Shares<ClientAddress>(places), run: yield* makeThreads(running.login) },
      signup: { places: new Shares<ClientAddress>(places), run: yield* makeThreads(running.signup) }
    }

    return {
      enter: (name, client) => {
        const shares = queues[name].places
        const release = Effect.sync(() => shares.release(client))
        // `Effect.acquireRelease` would compare and copy all fiber refs of the request twice.
        return Effect.uninterruptible(
          Effect.flatMap(Effect.scope, (scope) =>
            shares.take(client) ? Scope.addFinalizer(scope, release) : Effect.fail(noPlace)
          )
        )
      },
      refusalFor: (name, client, expected) => (queues[name].places.isFullFor(client, expected) ? noPlace : undefined),
      hash: (name, password) =>
        Effect.map(
          queues[name].run((thread) => thread.hash(Redacted.value(password), parameters)),
          (text) => PasswordHash(Redacted.make(text))
        ),
      verify: (password, known) =>
        Effect.map(
          queues.login.run((thread) =>
            thread.verify(known === undefined ? unmatchableHash : Redacted.value(known), Redacted.value(password))
          ),
          (matches) => matches && known !== undefined
        )
    }
  })

type RunOnThread = <A>(work: (thread: HashingThread) => Promise<A>) => Effect.Effect<A>

/**
 * Returns a function that runs work on one of `count` threads. After work that did not fail, it leaves one thread
 * unused for a time. If the caller is interrupted, the thread is released only after the work has ended.
 */
const makeThreads = (count: number): Effect.Effect<RunOnThread, never, Scope.Scope> =>
  Effect.gen(function* () {
    const threads = Array.from({ length: count }, () => new HashingThread())
    yield* Effect.addFinalizer(() => Effect.promise(() => Promise.all(threads.map((thread) => thread.close()))))
    const permits = new FifoSemaphore(count)
    const idle = [...threads]
    return (work) =>
      Effect.uninterruptible(
        Effect.gen(function* () {
          yield* permits.take
          const thread = idle.pop() as HashingThread
          const exit = yield* Effect.exit(Effect.timed(Effect.promise(() => work(thread))))
          idle.push(thread)
          const pause = Exit.isSuccess(exit) ? Duration.times(exit.value[0], PAUSES_PER_HASH) : Duration.zero
          yield* Effect.forkDaemon(Effect.zipRight(Effect.sleep(pause), permits.release))
          const [, result] = yield* exit
          return result
        })
      )
  })

export const layer = (options: Partial<ArgonOptions> = {}): Layer.Layer<PasswordHasher> =>
  Layer.scoped(PasswordHasher, make(options))

/** Returns this number of random bytes as base64 without padding, which is the encoding in PHC strings. */
const phc = (bytes: number): string => randomBytes(bytes).toString("base64").replaceAll("=", "")
