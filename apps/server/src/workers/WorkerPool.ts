/**
 * Starts the workers of the primary process, replaces workers that die, and drains all workers at shutdown.
 */
import { EndedNodes } from "@tollgate/application/operations/Nodes"
import { StartFailed } from "@tollgate/composition/StartFailed"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type * as Scope from "effect/Scope"
import { MAX_QUICK_DEATHS, QUICK_MILLIS, RestartPolicy } from "./RestartPolicy.ts"
import type { Address } from "./WorkerMessage.ts"
import { type ProcessEnd, WorkerProcess } from "./WorkerProcess.ts"
import type { WorkersMetrics } from "./WorkersMetrics.ts"

export interface WorkerPoolOptions {
  readonly count: number
  /** Environment variables of the workers, in addition to the variables of this process. */
  readonly environment: Readonly<Record<string, string>>
  readonly metrics: WorkersMetrics
}

export interface WorkerPool {
  /** The address at which all workers serve. */
  readonly address: Address
  /** Fails when a worker that ended is not replaced, because it ended too often soon after its start. */
  readonly lost: Effect.Effect<never, StartFailed>
}

/**
 * Starts the workers and waits until all serve. The workers are drained when the scope ends. If a worker cannot start,
 * stops the other workers and fails.
 */
export const start = (options: WorkerPoolOptions): Effect.Effect<WorkerPool, StartFailed, EndedNodes | Scope.Scope> =>
  Effect.gen(function* () {
    const slots = Array.from({ length: options.count }, (_, i) => ({
      number: i + 1,
      serving: Deferred.unsafeMake<Address>(FiberId.none)
    }))
    const running = yield* Effect.forkScoped(
      Effect.forEach(slots, (slot) => keepRunning(slot, options), { concurrency: "unbounded" })
    )
    const lost = Effect.zipRight(Fiber.join(running), Effect.never)
    const addresses = Effect.forEach(slots, ({ serving }) => Deferred.await(serving))
    const [address] = yield* Effect.raceFirst(addresses, lost)
    return { address: address as Address, lost }
  })

interface Slot {
  /** The number of the worker, from 1. A replacement has the number of the worker that died. */
  readonly number: number
  /** Completed when the first worker of this slot serves. */
  readonly serving: Deferred.Deferred<Address>
}

const keepRunning = (
  { number, serving }: Slot,
  { environment, metrics }: WorkerPoolOptions
): Effect.Effect<never, StartFailed, EndedNodes> => {
  const restarts = new RestartPolicy()
  const begin = Effect.sync(() => {
    const worker = new WorkerProcess(number, environment, (address) =>
      Deferred.unsafeDone(serving, Effect.succeed(address))
    )
    metrics.add(worker)
    return worker
  })
  const live = Effect.acquireUseRelease(
    begin,
    (worker) => Effect.map(worker.ended, (end) => ({ worker, end })),
    (worker) =>
      Effect.zipRight(
        worker.stop,
        Effect.promise(() => metrics.retire(worker))
      )
  )
  return Effect.gen(function* () {
    const startedAt = yield* Clock.currentTimeMillis
    const { end, worker } = yield* live
    if (worker.node !== undefined) yield* Effect.forkDaemon(deregister(worker))
    const { startError } = worker
    if (startError !== undefined && !(yield* Deferred.isDone(serving))) {
      return yield* new StartFailed({ message: startError })
    }
    const delayMillis = restarts.afterDeath((yield* Clock.currentTimeMillis) - startedAt)
    const reason = startError ?? reasonOf(end)
    if (delayMillis === undefined) return yield* new StartFailed({ message: givenUp(number, reason) })
    yield* Effect.logWarning("a worker ended and is replaced", { worker: number, pid: worker.pid, reason })
    yield* Effect.sleep(delayMillis)
  }).pipe(Effect.forever)
}

const givenUp = (number: number, reason: string): string =>
  `worker ${number} ended ${MAX_QUICK_DEATHS} times in succession within ${QUICK_MILLIS / 1_000} seconds of its start; ` +
  `the last time: ${reason}`

const reasonOf = ({ code, signal }: ProcessEnd): string => {
  if (signal !== null) return `signal ${signal}`
  return code === null ? "the process could not be started" : `exit code ${code}`
}

/**
 * Deregisters the node of a worker whose process has ended. If this fails, other nodes settle the worker's requests
 * when its last heartbeat is too old.
 */
const deregister = ({ node, number }: WorkerProcess): Effect.Effect<void, never, EndedNodes> =>
  node === undefined
    ? Effect.void
    : Effect.flatMap(EndedNodes, (nodes) => nodes.deregister(node)).pipe(
        Effect.timeout("5 seconds"),
        Effect.catchAllCause((cause) =>
          Effect.logWarning("the node of a worker that ended could not be deregistered", { worker: number }, cause)
        )
      )
