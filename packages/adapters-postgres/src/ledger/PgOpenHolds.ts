/**
 * Lists open holds, and settles orphaned holds: holds of dead nodes.
 *
 * Any node or an operator can run a sweep. The sweep of a node names the dead nodes with their last heartbeats. If one
 * of these nodes has sent a heartbeat since, its holds are not settled. The sweep of an operator compares all
 * heartbeats with the database clock, because an operator has not watched the heartbeats. A sweep settles each orphaned
 * hold at its last checkpoint. It skips a hold if another session has locked the hold, or an account or a limited key
 * of its user. The next sweep selects the skipped holds again.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Measured } from "@tollgate/application/ledger/InferenceLedger"
import { type OpenHold, OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { WriteOffs } from "@tollgate/application/ledger/WriteOffs"
import { DatabaseUnavailable } from "@tollgate/application/operations/Database"
import { nothing } from "@tollgate/domain/inference/Charge"
import { type Checkpoint, chargeAtCheckpoint } from "@tollgate/domain/inference/Checkpoint"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import { PgSettings } from "../client/PgSettings.ts"
import { type PositionRow, toPosition } from "../client/Positions.ts"
import { describe, isUnavailable } from "../client/SqlErrorClass.ts"
import { sqlErrorsAreDefects } from "../client/Transact.ts"
import { lockFreeKeys, WorkingKeys } from "./CountedKeys.ts"
import {
  type BoundStatement,
  type Decided,
  DedicatedConnection,
  type Query,
  type Statement
} from "./DedicatedConnection.ts"
import { lockedHold, lockingHolds, readPrices } from "./HoldRows.ts"
import { LedgerDriver } from "./LedgerDriver.ts"
import { lockFreeAccounts } from "./LockedRows.ts"
import { type ReapedBatch, type Reaper, reap } from "./OrphanReaper.ts"
import { settleHold, settleHolds } from "./SettlementRows.ts"
import { WorkingBalances } from "./WorkingBalances.ts"
import { inOneStatement } from "./WriteStatement.ts"

export interface OpenHoldsOptions {
  readonly nodeDeadAfterSeconds: number
}

export const defaults: OpenHoldsOptions = { nodeDeadAfterSeconds: 30 }

const BATCH_SIZE = 500
const LIMITS = { connectMillis: 5_000, transactionMillis: 20_000, lockMillis: 250 }

export const make = ({ nodeDeadAfterSeconds }: OpenHoldsOptions = defaults) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const settings = yield* PgSettings
    const runtime = yield* Effect.runtime<never>()
    const writeOffs = yield* WriteOffs
    const oneAtATime = yield* Effect.makeSemaphore(1)
    const connection = yield* Effect.acquireRelease(
      Effect.map(LedgerDriver, (driver) => new DedicatedConnection(settings, LIMITS, driver)),
      (own) => Effect.sync(() => own.close())
    )
    const onRejected = (requestIds: ReadonlyArray<RequestId>, error: unknown) =>
      void Runtime.runFork(runtime)(
        Effect.annotateLogs(Effect.logError(`an orphaned hold cannot be settled: ${describe(error)}`), {
          request_ids: requestIds
        })
      )
    const reaperOf = (lock: Statement, dead: unknown, ...rest: ReadonlyArray<unknown>): Reaper => ({
      maxBatchSize: BATCH_SIZE,
      transact: async (work) => {
        const batch = await connection.transact(work)
        writeOffs.add("orphaned", batch.writtenOff)
        return batch
      },
      reapBatch: (query, excluded, batchSize, onLocked) =>
        settleOrphans(query, { statement: lock, values: [dead, [...excluded], batchSize, ...rest] }, onLocked),
      onRejected
    })
    const sweep = (reaper: Reaper) =>
      Effect.promise(() => reap(reaper)).pipe(
        Effect.catchAllDefect((error) =>
          Effect.die(isUnavailable(error) ? new DatabaseUnavailable({ cause: error }) : error)
        ),
        oneAtATime.withPermits(1)
      )
    return OpenHolds.of({
      list: sqlErrorsAreDefects(
        Effect.map(sql.unsafe<OpenHoldRow>(`${HOLDS} ${OLDEST_FIRST}`, [nodeDeadAfterSeconds]), (rows) =>
          rows.map(fromRow)
        )
      ),
      page: ({ after, limit }) =>
        sqlErrorsAreDefects(
          Effect.map(
            sql.unsafe<OpenHoldRow & PositionRow>(PAGE, [
              nodeDeadAfterSeconds,
              after?.atMicros ?? 0n,
              after?.id ?? LOWEST_UUID,
              limit
            ]),
            (rows) => rows.map((row) => ({ ...fromRow(row), position: toPosition(row) }))
          )
        ),
      sweep: sweep(reaperOf(LOCK_ORPHANS, nodeDeadAfterSeconds)),
      sweepSilent: (silent) =>
        sweep(
          reaperOf(
            LOCK_SILENT,
            silent.map(({ node }) => node),
            silent.map(({ beatAt }) => beatAt)
          )
        )
    })
  })

export const layer = (
  options: OpenHoldsOptions = defaults
): Layer.Layer<OpenHolds, never, SqlClient.SqlClient | PgSettings> => Layer.scoped(OpenHolds, make(options))

const settleOrphans = async (
  query: Query,
  { statement, values }: BoundStatement,
  onLocked: (requestIds: ReadonlyArray<RequestId>) => void
): Promise<Decided<ReapedBatch>> => {
  const holds = (await query(statement, values)).map(lockedHold)
  onLocked(holds.map(({ requestId }) => requestId))
  if (holds.length === 0) return { result: { taken: 0, skipped: [], writtenOff: UsdPico(0n) }, write: undefined }
  const countedKeys = new Set(holds.filter(({ hold }) => hold.key !== undefined).map(({ keyId }) => keyId))
  const [prices, { balances, contended }, free] = await Promise.all([
    readPrices(
      query,
      holds.map(({ priceId }) => priceId)
    ),
    lockFreeAccounts(query, holds),
    lockFreeKeys(query, [...countedKeys])
  ])
  const contendedUsers = new Set([...contended, ...free.contended])
  const accounts = new WorkingBalances(balances)
  const keys = new WorkingKeys(free.keys)
  const settlements = holds
    .filter(({ userId }) => !contendedUsers.has(userId))
    .map(({ requestId, userId, modelId, priceId, keyId, hold, checkpoint }) =>
      settleHold(
        { requestId, owner: { userId, modelId }, keyId, hold },
        atCheckpoint(checkpoint),
        prices(priceId),
        accounts,
        keys
      )
    )
  return {
    result: {
      taken: holds.length,
      skipped: holds.filter(({ userId }) => contendedUsers.has(userId)).map(({ requestId }) => requestId),
      writtenOff: UsdPico(settlements.reduce((sum, { settlement }) => sum + settlement.writeoffPico, 0n))
    },
    write:
      settlements.length === 0
        ? undefined
        : inOneStatement([settleHolds(settlements), ...accounts.changes, ...keys.changes])
  }
}

/** Returns the measurement of an orphaned request. The time of the node's death is unknown, so the duration is 0. */
const atCheckpoint = (checkpoint: Checkpoint): Measured => {
  const charge = chargeAtCheckpoint(checkpoint)
  const times = { ttftMillis: undefined, durationMillis: 0 }
  return charge.source === "none"
    ? { ending: "failed", charge: nothing, ...times }
    : { ending: "orphaned", charge, ...times }
}

/**
 * Selects the nodes that have no row, that are deregistered, or whose last heartbeat is too old by the database clock.
 * `seconds` is a query parameter. `now()` is the time at which the transaction began. This time is before the snapshot
 * that the statement reads, so a delayed statement does not make a heartbeat appear older.
 */
export const isLate = (seconds: string): string => `
  (node.id IS NULL OR node.left_at IS NOT NULL OR node.beat_at < now() - make_interval(secs => ${seconds}))`

const IS_LATE = isLate("$1")

/** Selects the holds of deregistered nodes, and of nodes whose last heartbeat is one of the given heartbeats. */
const IS_SILENT = `
  (node.left_at IS NOT NULL OR EXISTS (
    SELECT FROM unnest($1::uuid[], $4::timestamptz[]) AS silent (node_id, beat_at)
    WHERE silent.node_id = hold.node_id AND silent.beat_at IS NOT DISTINCT FROM node.beat_at))`

const lockingOrphans = (name: string, isOrphaned: string): Statement =>
  lockingHolds(
    name,
    `LEFT JOIN gateway_node AS node ON node.id = hold.node_id
      WHERE ${isOrphaned} AND hold.request_id <> ALL ($2::uuid[])
      ORDER BY hold.request_id LIMIT $3 FOR UPDATE OF hold SKIP LOCKED`
  )

const LOCK_ORPHANS = lockingOrphans("lock_orphans", IS_LATE)
const LOCK_SILENT = lockingOrphans("lock_silent", IS_SILENT)

const HOLDS = `
  SELECT (extract(epoch FROM hold.held_at) * 1000000)::bigint AS at_micros, hold.request_id AS position_id, hold.request_id, app_user.email, model.public_name AS model, hold.plan_tokens, hold.payg_pico,
    hold.checkpoint_input, hold.checkpoint_output, hold.held_at, ${IS_LATE} AS orphaned
  FROM open_request AS hold
  JOIN app_user ON app_user.id = hold.user_id
  JOIN model ON model.id = hold.model_id
  LEFT JOIN gateway_node AS node ON node.id = hold.node_id`

const OLDEST_FIRST = "ORDER BY hold.held_at, hold.request_id"
const LOWEST_UUID = "00000000-0000-0000-0000-000000000000"

const PAGE = `${HOLDS}
  WHERE (hold.held_at, hold.request_id) > (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)
  ${OLDEST_FIRST} LIMIT $4::int`

interface OpenHoldRow {
  readonly request_id: string
  readonly email: string
  readonly model: string
  readonly plan_tokens: bigint
  readonly payg_pico: bigint
  readonly checkpoint_input: bigint
  readonly checkpoint_output: bigint
  readonly held_at: Date
  readonly orphaned: boolean
}

const fromRow = (row: OpenHoldRow): OpenHold => ({
  requestId: RequestId(row.request_id),
  email: row.email,
  model: row.model,
  hold: { planTokens: Tokens(row.plan_tokens), paygPico: UsdPico(row.payg_pico) },
  checkpoint: { input: Tokens(row.checkpoint_input), output: Tokens(row.checkpoint_output) },
  heldAt: row.held_at,
  orphaned: row.orphaned
})
