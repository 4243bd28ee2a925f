/**
 * An image with the outcome {@link completedImage} costs exactly 0.1 micro-USD.
 */
import { SqlClient } from "@effect/sql"
import { PgSettings } from "@tollgate/adapters-postgres/client/PgSettings"
import * as PgImageRequests from "@tollgate/adapters-postgres/images/PgImageRequests"
import * as PgNodes from "@tollgate/adapters-postgres/operations/PgNodes"
import { type FinishedImage, ImageRequests } from "@tollgate/application/images/ImageRequests"
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import { Nodes } from "@tollgate/application/operations/Nodes"
import { ContentPolicyViolation } from "@tollgate/domain/images/ImageErrors"
import { type ImageEnd, type ImageOutcome, outcomeOf } from "@tollgate/domain/images/ImageOutcome"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { unreported } from "@tollgate/domain/inference/ReportedUsage"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { Context, Effect, Layer, Logger, LogLevel } from "effect"
import type * as Pg from "pg"
import { aRequest, type Customer, PATIENCE_MILLIS } from "../ledger/Customers.ts"

export const anImage = (customer: Customer, input = 96n): Admission => ({
  ...aRequest(customer, input),
  protocol: "images",
  streamed: false
})

/** How an image request can end, by the state that is then stored. */
export const ends = {
  settled: { _tag: "Completed", usage: { prompt: { ...TokenUsage.none, input: Tokens(96n) }, output: Tokens(1n) } },
  unmetered: { _tag: "Completed", usage: unreported },
  declined: { _tag: "Declined", error: new ContentPolicyViolation({ message: "no" }) },
  timeout: { _tag: "TimedOut" },
  withheld: { _tag: "TooLarge", usage: undefined },
  failed: { _tag: "Failed", error: new UpstreamFailed({ cause: "a test" }) },
  abandoned: { _tag: "ClientGone", usage: undefined }
} as const satisfies Record<string, ImageEnd>

export const completedImage: ImageOutcome = outcomeOf(ends.settled, true)

export const finished = (admission: Admission, outcome: ImageOutcome = completedImage): FinishedImage => ({
  admission,
  outcome: () => outcome,
  durationMillis: 1_234
})

/** The node stops when the scope closes. */
export const anImageNode = (options: Partial<PgImageRequests.ImageRequestsOptions> = {}, settings?: Pg.ClientConfig) =>
  Effect.gen(function* () {
    const own = settings === undefined ? Layer.effect(PgSettings, PgSettings) : Layer.succeed(PgSettings, settings)
    const built = yield* Layer.build(
      PgImageRequests.layer({ beginMillis: PATIENCE_MILLIS, ...options }).pipe(
        Layer.provide(own),
        Layer.provideMerge(PgNodes.layer)
      )
    ).pipe(Logger.withMinimumLogLevel(LogLevel.None))
    const images = Context.get(built, ImageRequests)
    return {
      ...images,
      nodes: Context.get(built, Nodes),
      begin: (admission: Admission, idempotencyKey?: string) => images.begin({ admission, idempotencyKey }),
      tryBegin: (admission: Admission, idempotencyKey?: string) =>
        Effect.match(images.begin({ admission, idempotencyKey }), {
          onSuccess: () => "begun" as const,
          onFailure: ({ _tag }) => _tag
        })
    }
  })

export interface StoredImage {
  readonly state: string
  readonly keyed: boolean
  readonly review: string | null
  readonly ending: string | null
  readonly cost: bigint | null
}

export const storedImages = ({ user }: Customer) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<StoredImage>`
      SELECT i.state, i.key_digest IS NOT NULL AS keyed, r.reason AS review, s.ending, s.cost_pico AS cost
      FROM image_request i LEFT JOIN image_review r USING (request_id) LEFT JOIN settlement s USING (request_id)
      WHERE i.user_id = ${user.id} ORDER BY i.started_at, i.request_id`
  ).pipe(Effect.orDie)

export const expireLeases = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`UPDATE image_request SET lease_until = started_at + interval '1 microsecond' WHERE state = 'running'`
)
