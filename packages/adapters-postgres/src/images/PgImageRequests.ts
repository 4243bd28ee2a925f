/**
 * Stores image requests in Postgres. A user has at most one running request on all nodes, and each request is settled
 * once.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { ImageRequests } from "@tollgate/application/images/ImageRequests"
import { WriteOffs } from "@tollgate/application/ledger/WriteOffs"
import { Nodes } from "@tollgate/application/operations/Nodes"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import { PgSettings } from "../client/PgSettings.ts"
import { describe } from "../client/SqlErrorClass.ts"
import { transact } from "../client/Transact.ts"
import { type ConnectionLimits, DedicatedConnection } from "../ledger/DedicatedConnection.ts"
import { logged } from "../ledger/QueueEvent.ts"
import { ImageQueue, type ImageQueueLimits } from "./ImageQueue.ts"

export interface ImageRequestsOptions extends ImageQueueLimits, ConnectionLimits {
  /** Maximum time that a shutdown waits until the queued results are written. */
  readonly flushMillis: number
}

export const defaults: ImageRequestsOptions = {
  // A request can take up to 120 seconds. The remaining 30 seconds cover a short database outage while the request
  // finishes.
  leaseSeconds: 150,
  waiting: 256,
  beginMillis: 5_000,
  connectMillis: 3_000,
  transactionMillis: 4_000,
  lockMillis: 250,
  flushMillis: 10_000
}

export const make = (options: ImageRequestsOptions = defaults) =>
  Effect.gen(function* () {
    const settings = yield* PgSettings
    const sql = yield* SqlClient.SqlClient
    const { self } = yield* Nodes
    const runtime = yield* Effect.runtime<never>()
    const writeOffs = yield* WriteOffs
    const oneAtATime = yield* Effect.makeSemaphore(1)
    const connection = Effect.acquireRelease(
      Effect.sync(() => new DedicatedConnection(settings, options)),
      (own) => Effect.sync(() => own.close())
    )
    const connections = { beginner: yield* connection, finisher: yield* connection }
    const log = logged("images")
    const queue = new ImageQueue(self, options, connections, (event) => void Runtime.runFork(runtime)(log(event)))
    yield* Effect.addFinalizer(() => closed(queue, options))
    const onRejected = (requestIds: ReadonlyArray<RequestId>, error: unknown) =>
      void Runtime.runFork(runtime)(
        Effect.annotateLogs(Effect.logError(`an image request cannot be abandoned: ${describe(error)}`), {
          request_ids: requestIds
        })
      )

    return ImageRequests.of({
      begin: (image) => Effect.asVoid(Effect.async((resume) => queue.begin(image, resume))),
      finish: (finished) =>
        Effect.async((resume) =>
          queue.finish(finished, (exit) => {
            if (exit._tag === "Success" && exit.value !== undefined) {
              const { outcome, settlement } = exit.value
              const { admission, durationMillis, route } = finished
              const { charge, ending } = outcome
              const { price, streamed } = admission
              route?.settled({ streamed, price, ending, charge, settlement, ttftMillis: undefined, durationMillis })
              writeOffs.add("image", settlement.writeoffPico)
            }
            resume(Exit.map(exit, (settled) => settled?.outcome))
          })
        ),
      abandon: oneAtATime.withPermits(1)(Effect.promise(() => queue.abandonExpired(onRejected))),
      deleteOldKeys: Effect.provideService(deleteOldKeys, SqlClient.SqlClient, sql)
    })
  })

export const layer = (
  options: Partial<ImageRequestsOptions> = {}
): Layer.Layer<ImageRequests, never, PgSettings | Nodes | SqlClient.SqlClient> =>
  Layer.scoped(ImageRequests, make({ ...defaults, ...options }))

const closed = (queue: ImageQueue, { flushMillis }: ImageRequestsOptions) =>
  Effect.flatMap(
    Effect.promise(() => queue.close(flushMillis)),
    (left) =>
      left === 0
        ? Effect.void
        : Effect.logError(
            "the server stopped before it stored the results of some image requests; a node will abandon them when their leases expire"
          ).pipe(Effect.annotateLogs({ left }))
  )

const DELETE_BATCH_SIZE = 1_000

/**
 * Deletes the digests of idempotency keys after 90 days, batch by batch, each batch in its own transaction. Returns the
 * number of deleted digests.
 */
const deleteOldKeys: Effect.Effect<number, never, SqlClient.SqlClient> = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql<{ request_id: string }>`
    UPDATE image_request SET key_digest = NULL WHERE request_id IN (
      SELECT request_id FROM image_request
      WHERE key_digest IS NOT NULL AND started_at < clock_timestamp() - interval '90 days'
      ORDER BY started_at LIMIT ${DELETE_BATCH_SIZE} FOR UPDATE SKIP LOCKED)
    RETURNING request_id`
).pipe(
  transact,
  Effect.flatMap(({ length }) =>
    length < DELETE_BATCH_SIZE ? Effect.succeed(length) : Effect.map(deleteOldKeys, (more) => length + more)
  )
)
