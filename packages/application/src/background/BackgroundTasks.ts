/**
 * Defines the background tasks, which a node repeats for as long as it runs.
 *
 * Each task has a separate fiber, so that a slow task does not delay the heartbeat. Every node runs every task. Several
 * nodes can safely run the same task concurrently.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { KeyUses } from "../customer/KeyLists.ts"
import { KeyRewrites } from "../customer/KeyPeppers.ts"
import { ImageRequests } from "../images/ImageRequests.ts"
import { checkpointOpenRequests, type OpenRequests } from "../inference/OpenRequests.ts"
import type { InferenceLedger } from "../ledger/InferenceLedger.ts"
import { OpenHolds } from "../ledger/OpenHolds.ts"
import { type Heartbeat, Nodes } from "../operations/Nodes.ts"
import { UsageRollUps } from "../rankings/UsageRollUps.ts"
import type { OrderPayments } from "../topup/OrderPayments.ts"
import type { PaymentProviders } from "../topup/PaymentProviders.ts"
import { refreshDue } from "../topup/RefreshDueOrders.ts"
import type { TopUpOrders } from "../topup/TopUpOrders.ts"
import { WebhookCounts } from "../webhook/WebhookCounts.ts"
import { BalanceWatch, WebhookDeliveries } from "../webhook/WebhookDeliveries.ts"
import { WebhookDispatcher } from "../webhook/WebhookDispatcher.ts"
import { HeartbeatWatch, nodeIntervals } from "./NodeHeartbeat.ts"
import { TaskRuns } from "./TaskRuns.ts"

export interface BackgroundTask<R> {
  readonly name: string
  /** The time between the end of a round and the start of the next round. */
  readonly interval: Duration.Duration
  readonly round: Effect.Effect<unknown, never, R>
  /** The log message of a round that fails. */
  readonly failure: string
}

/** The ports that the tasks use, and the services of the application that they use. */
export type BackgroundPorts =
  | Nodes
  | OpenHolds
  | OpenRequests
  | InferenceLedger
  | ImageRequests
  | TopUpOrders
  | PaymentProviders
  | OrderPayments
  | UsageRollUps
  | KeyUses
  | WebhookDispatcher
  | WebhookDeliveries
  | BalanceWatch
  | KeyRewrites

/** Returns every task of a node. Other nodes consider a node dead after `deadAfter` without a heartbeat. */
export const backgroundTasks = (deadAfter: Duration.Duration) =>
  Effect.map(Clock.currentTimeNanos, (startedAt): ReadonlyArray<BackgroundTask<BackgroundPorts>> => {
    const { heartbeatInterval, checkpointInterval, sweepInterval } = nodeIntervals(deadAfter)
    const watch = new HeartbeatWatch(deadAfter, startedAt)
    return [
      {
        name: "node heartbeat",
        interval: heartbeatInterval,
        round: Effect.flatMap(Nodes, ({ beat }) => Effect.flatMap(beat, watch.record)),
        failure: "the heartbeat of this node failed"
      },
      {
        name: "checkpoint of open requests",
        interval: checkpointInterval,
        round: checkpointOpenRequests,
        failure: "the checkpoint of open requests failed"
      },
      {
        name: "sweep of dead nodes' holds",
        interval: sweepInterval,
        round: Effect.flatMap(watch.silent, Option.match({ onNone: () => Effect.void, onSome: sweepHolds })),
        failure: "the sweep of dead nodes' holds failed"
      },
      {
        name: "image lease reaper",
        interval: Duration.seconds(5),
        round: reapImageLeases,
        failure: "image requests with an expired lease could not be abandoned"
      },
      {
        name: "idempotency key expiry",
        interval: Duration.hours(1),
        round: Effect.flatMap(ImageRequests, ({ deleteOldKeys }) => deleteOldKeys),
        failure: "expired idempotency keys could not be deleted"
      },
      {
        name: "top-up refresh",
        interval: Duration.seconds(30),
        round: refreshDueTopUps,
        failure: "the background refresh of top-ups failed"
      },
      {
        // Adds rows of `usage_delta` to the usage sums of the rankings. It runs even if rankings are disabled, because
        // these rows accumulate otherwise.
        name: "usage fold",
        interval: Duration.seconds(5),
        round: Effect.flatMap(UsageRollUps, ({ fold }) => fold),
        failure: "rows of usage_delta could not be added to the usage sums of the rankings"
      },
      {
        name: "uses of API keys",
        interval: Duration.minutes(1),
        round: Effect.flatMap(KeyUses, ({ record }) => record),
        failure: "the last uses of API keys could not be stored"
      },
      {
        name: "webhook delivery",
        interval: Duration.seconds(1),
        round: Effect.flatMap(WebhookDispatcher, ({ startDue }) => startDue),
        failure: "due webhooks could not be claimed"
      },
      {
        name: "balance watch",
        interval: BALANCE_WATCH_INTERVAL,
        round: Effect.flatMap(BalanceWatch, ({ round }) => round(BALANCE_WATCH_INTERVAL)),
        failure: "balances could not be compared with the thresholds of webhooks"
      },
      {
        name: "webhook backlog",
        interval: Duration.seconds(30),
        round: readBacklog,
        failure: "the backlog of webhooks could not be read"
      },
      {
        name: "webhook retention",
        interval: Duration.hours(1),
        round: Effect.flatMap(WebhookDeliveries, ({ deleteOldEvents }) => deleteOldEvents),
        failure: "old webhook events could not be deleted"
      },
      {
        name: "rewrite of API keys",
        interval: Duration.seconds(10),
        round: Effect.flatMap(KeyRewrites, ({ rewrite }) => rewrite),
        failure: "used API keys could not be stored under the current pepper"
      }
    ]
  })

const BALANCE_WATCH_INTERVAL = Duration.seconds(10)

const sweepHolds = (silent: ReadonlyArray<Heartbeat>) =>
  Effect.flatMap(OpenHolds, ({ sweepSilent }) =>
    Effect.tap(sweepSilent(silent), (swept) =>
      swept > 0 ? Effect.logWarning("settled the holds of dead nodes", { swept }) : Effect.void
    )
  )

/**
 * Ends the image requests whose lease has expired. The next image request of the same customer also ends such a
 * request.
 */
const reapImageLeases = Effect.flatMap(ImageRequests, ({ abandon }) =>
  Effect.tap(abandon, (count) =>
    count > 0 ? Effect.logWarning("abandoned image requests whose lease had expired", { count }) : Effect.void
  )
)

const refreshDueTopUps = Effect.tap(
  Effect.suspend(() => refreshDue()),
  ({ credited }) =>
    credited > 0 ? Effect.logInfo("the background refresh credited top-ups", { credited }) : Effect.void
)

const readBacklog = Effect.gen(function* () {
  const { backlog } = yield* WebhookDeliveries
  const counts = yield* WebhookCounts
  counts.backlog = yield* backlog
})

/**
 * Runs all tasks until the interruption of this effect. A failure is logged, and the task runs again after its
 * interval.
 */
export const runTasks = <R>(tasks: ReadonlyArray<BackgroundTask<R>>): Effect.Effect<void, never, R> =>
  Effect.forEach(tasks, (task) => Effect.repeat(recorded(task), Schedule.spaced(task.interval)), {
    concurrency: "unbounded",
    discard: true
  })

/** Runs one round, records its result and logs its failure. */
const recorded = <R>({ name, interval, round, failure }: BackgroundTask<R>): Effect.Effect<void, never, R> =>
  Effect.gen(function* () {
    const run = (yield* TaskRuns).of(name, Duration.toMillis(interval), yield* Clock.currentTimeMillis)
    const exit = yield* Effect.exit(round)
    if (Exit.isSuccess(exit)) {
      run.succeeded += 1
      run.lastSuccessMillis = yield* Clock.currentTimeMillis
    } else {
      run.failed += 1
      yield* Effect.annotateLogs(Effect.logError(failure, exit.cause), { task: name })
    }
  })

/** Starts every task of this node. The tasks stop when the scope closes. */
export const startBackgroundTasks = (
  deadAfter: Duration.Duration
): Effect.Effect<void, never, BackgroundPorts | Scope.Scope> =>
  Effect.asVoid(Effect.forkScoped(Effect.flatMap(backgroundTasks(deadAfter), runTasks)))
