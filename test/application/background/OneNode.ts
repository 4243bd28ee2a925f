/**
 * Provides the background tasks of one node. A test supplies the work of the tasks that it needs; other tasks do
 * nothing.
 */
import {
  type BackgroundPorts,
  type BackgroundTask,
  backgroundTasks,
  runTasks
} from "@tollgate/application/background/BackgroundTasks"
import { KeyUses } from "@tollgate/application/customer/KeyLists"
import { KeyRewrites } from "@tollgate/application/customer/KeyPeppers"
import { ImageRequests } from "@tollgate/application/images/ImageRequests"
import * as OpenRequests from "@tollgate/application/inference/OpenRequests"
import { InferenceLedger } from "@tollgate/application/ledger/InferenceLedger"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { type Heartbeat, type NodeId, Nodes } from "@tollgate/application/operations/Nodes"
import { UsageRollUps } from "@tollgate/application/rankings/UsageRollUps"
import { BalanceWatch, WebhookDeliveries } from "@tollgate/application/webhook/WebhookDeliveries"
import { WebhookDispatcher } from "@tollgate/application/webhook/WebhookDispatcher"
import { Duration, Effect, Layer } from "effect"
import { TopUpFixture } from "../topup/TopUpFixture.ts"

interface Rounds {
  /** The last heartbeats of the other nodes. */
  readonly beat: Effect.Effect<ReadonlyArray<Heartbeat>>
  readonly sweep: (silent: ReadonlyArray<Heartbeat>) => Effect.Effect<number>
  readonly abandon: Effect.Effect<number>
  readonly deleteOldKeys: Effect.Effect<number>
  readonly fold: Effect.Effect<number>
  readonly record: Effect.Effect<unknown>
}

const nothing: Rounds = {
  beat: Effect.succeed([]),
  sweep: () => Effect.succeed(0),
  abandon: Effect.succeed(0),
  deleteOldKeys: Effect.succeed(0),
  fold: Effect.succeed(0),
  record: Effect.void
}

export const DEAD_AFTER = Duration.seconds(30)

interface Parts {
  readonly fixture: TopUpFixture
  readonly tasks: (task: BackgroundTask<BackgroundPorts>) => boolean
}

/** Starts the tasks of a node in the scope of the caller. `tasks` selects the tasks; the default is all tasks. */
export const startOneNode = (rounds: Partial<Rounds> = {}, parts: Partial<Parts> = {}) => {
  const { beat, sweep, abandon, deleteOldKeys, fold, record } = { ...nothing, ...rounds }
  const { fixture, tasks } = { fixture: new TopUpFixture(), tasks: () => true, ...parts }
  const load = { waitingAdmissions: 0, unsettled: 0, transactions: 0, transactionMillis: 0 }
  const ports = Layer.mergeAll(
    Layer.succeed(Nodes, { self: "node" as NodeId, beat, leave: Effect.void }),
    Layer.mock(OpenHolds, { sweepSilent: sweep }),
    Layer.mock(InferenceLedger, {
      admit: () => {},
      admitLater: () => {},
      admitNow: () => {},
      isAmple: () => false,
      extend: () => {},
      settle: () => {},
      settleWithAdmission: () => false,
      settleLater: () => {},
      flush: Effect.void,
      load: () => load
    }),
    Layer.mock(ImageRequests, { abandon, deleteOldKeys }),
    Layer.mock(UsageRollUps, { fold, rebuild: Effect.dieMessage("not used") }),
    Layer.succeed(KeyUses, { record: Effect.asVoid(record) }),
    Layer.succeed(WebhookDispatcher, { startDue: Effect.succeed(0) }),
    Layer.succeed(BalanceWatch, { round: () => Effect.succeed(0) }),
    Layer.mock(WebhookDeliveries, {
      backlog: Effect.succeed({ oldestSeconds: 0, overdueSeconds: 0 }),
      deleteOldEvents: Effect.succeed(0)
    }),
    Layer.succeed(KeyRewrites, { rewrite: Effect.succeed(0) }),
    OpenRequests.layer,
    fixture.layer
  )
  const running = Effect.flatMap(backgroundTasks(DEAD_AFTER), (all) => runTasks(all.filter(tasks)))
  return Layer.build(Layer.provide(Layer.scopedDiscard(Effect.forkScoped(running)), ports))
}
