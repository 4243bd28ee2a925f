/**
 * Image requests in Postgres: one running of an account over all nodes, each settled once.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { ImageRequests } from "@tollgate/application/images/ImageRequests"
import { Nodes } from "@tollgate/application/operations/Nodes"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import { PgSettings } from "../client/PgSettings.ts"
import { describe } from "../client/SqlErrorClass.ts"
import { transact } from "../client/Transact.ts"
import { type ConnectionLimits, DedicatedConnection } from "../ledger/DedicatedConnection.ts"
import { type ImageLaneEvent, type ImageLaneLimits, ImageQueue } from "./ImageQueue.ts"

export interface ImageRequestsOptions extends ImageLaneLimits, ConnectionLimits {
  /** How long shutting down may wait for requests that end. */
  readonly flushMillis: number
}

export const defaults: ImageRequestsOptions = {
  // A request has 120 seconds, and some more for the database to be away while it ends.
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
    const connection = Effect.acquireRelease(
      Effect.sync(() => new DedicatedConnection(settings, options)),
      (own) => Effect.sync(() => own.close())
    )
    const connections = { beginner: yield* connection, finisher: yield* connection }
    const lane = new ImageQueue(self, options, connections, (event) => void Runtime.runFork(runtime)(logged(event)))
    yield* Effect.addFinalizer(() => closed(lane, options))

    return ImageRequests.of({
      begin: (image) => Effect.async((resume) => lane.begin(image, (begun) => resume(begun))),
      finish: (finished) => Effect.promise(() => lane.finish(finished)),
      abandon: Effect.promise(() => lane.abandon()),
      forgetKeys: Effect.provideService(forgetKeys, SqlClient.SqlClient, sql)
    })
  })

export const layer = (
  options: Partial<ImageRequestsOptions> = {}
): Layer.Layer<ImageRequests, never, PgSettings | Nodes | SqlClient.SqlClient> =>
  Layer.scoped(ImageRequests, make({ ...defaults, ...options }))

const closed = (lane: ImageQueue, { flushMillis }: ImageRequestsOptions) =>
  Effect.flatMap(
    Effect.promise(() => lane.close(flushMillis)),
    (left) =>
      left === 0
        ? Effect.void
        : Effect.logError(
            "stopped with image requests unfinished; they are given up when their leases have passed"
          ).pipe(Effect.annotateLogs({ left }))
  )

const logged = (event: ImageLaneEvent): Effect.Effect<void> =>
  event._tag === "Troubled"
    ? Effect.logWarning(`an image request waits for the database: ${describe(event.error)}`)
    : Effect.logError(`the database will not take an image request: ${describe(event.error)}`).pipe(
        Effect.annotateLogs({ requestIds: event.requestIds })
      )

const FORGOTTEN_AT_ONCE = 1_000

/** Chunk by chunk, each in a transaction of its own. */
const forgetKeys: Effect.Effect<number, never, SqlClient.SqlClient> = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql<{ request_id: string }>`
    UPDATE image_request SET key_digest = NULL WHERE request_id IN (
      SELECT request_id FROM image_request
      WHERE key_digest IS NOT NULL AND started_at < clock_timestamp() - interval '90 days'
      ORDER BY started_at LIMIT ${FORGOTTEN_AT_ONCE} FOR UPDATE SKIP LOCKED)
    RETURNING request_id`
).pipe(
  transact,
  Effect.flatMap(({ length }) =>
    length < FORGOTTEN_AT_ONCE ? Effect.succeed(length) : Effect.map(forgetKeys, (more) => length + more)
  )
)
