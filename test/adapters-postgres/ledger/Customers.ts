/**
 * A request from {@link aRequest} has 96 input tokens and 1 output token. At 1,000 and 4,000 pico-USD per token, its
 * cost is exactly 0.1 micro-USD.
 */

import { randomBytes } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { PgSettings } from "@tollgate/adapters-postgres/client/PgSettings"
import * as PgInferenceLedger from "@tollgate/adapters-postgres/ledger/PgInferenceLedger"
import * as PgNodes from "@tollgate/adapters-postgres/operations/PgNodes"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import {
  type Admission,
  type AdmissionRefusal,
  type Extension,
  InferenceLedger,
  type Measured,
  type Settled,
  type SettlementRequest
} from "@tollgate/application/ledger/InferenceLedger"
import { Nodes } from "@tollgate/application/operations/Nodes"
import type { Model } from "@tollgate/domain/catalog/Model"
import type { Principal } from "@tollgate/domain/customer/ApiKey"
import type { User } from "@tollgate/domain/customer/User"
import { type Ending, nothing } from "@tollgate/domain/inference/Charge"
import type { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { Hold } from "@tollgate/domain/ledger/Hold"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { uuidV7 } from "@tollgate/domain/operations/UuidV7"
import { Context, Effect, Exit, Layer, Logger, LogLevel } from "effect"
import type * as Pg from "pg"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"

export const REQUEST_PICO = 100_000n

export interface Customer {
  readonly user: User
  readonly principal: Principal
  readonly model: Model
}

/** Creates a customer and a model, and optionally a pay-as-you-go balance and a plan for the model. */
export const aCustomer = (balance: { readonly usdMicro?: bigint; readonly planTokens?: bigint }) =>
  Effect.gen(function* () {
    const user = balance.usdMicro === undefined ? yield* Stores.aUser : yield* Stores.aPayer(balance.usdMicro)
    const { key } = yield* (yield* ApiKeys).create(user.email, "key", Stores.operator)
    const model = yield* Stores.aModel("m")
    const customer: Customer = { user, principal: { keyId: key.id, userId: user.id }, model }
    if (balance.planTokens !== undefined) yield* mint(customer, balance.planTokens)
    return customer
  })

export const mint = ({ user, model }: Customer, tokens: bigint) => Programme.grant(user.id, model.id, tokens)

export const aRequestId = (): RequestId => RequestId(uuidV7(Date.now(), randomBytes(10)))

export const aRequest = (
  { principal, model }: Omit<Customer, "user"> & Partial<Customer>,
  input = 96n,
  output = 1n
): Admission => ({
  requestId: aRequestId(),
  principal,
  modelId: model.id,
  priceId: model.priceId,
  price: model.price,
  protocol: "chat",
  streamed: true,
  estimate: { inputFloor: Tokens(input), inputCeiling: Tokens(input), output: Tokens(output) }
})

export const measured = (ending: Ending, input = 96n, output = 1n): Measured => {
  const usage = TokenUsage.plain(Tokens(input), Tokens(output))
  const charge = ending === "failed" ? nothing : { charged: usage, consumed: usage, source: "upstream" as const }
  return { ending, charge, ttftMillis: 12, durationMillis: 345 }
}

export const complete = (admission: Admission, input = 96n, output = 1n): SettlementRequest => ({
  admission,
  measure: () => measured("complete", input, output)
})

export const failed = (admission: Admission): SettlementRequest => ({ admission, measure: () => measured("failed") })

/** Builds an extension of the hold to this many output and input tokens. */
export const extension = (admission: Admission, output: bigint, input = 96n): Extension => ({
  admission,
  usage: TokenUsage.plain(Tokens(input), Tokens(output))
})

/** Wraps the ledger with effects instead of callbacks. */
const inEffects = (ledger: InferenceLedger["Type"]) => ({
  admit: (admission: Admission) =>
    Effect.uninterruptible(
      Effect.async<Hold, AdmissionRefusal | Overloaded>((resume) => ledger.admit(admission, resume))
    ),
  isAmple: ledger.isAmple,
  /** Admits and settles a request in one transaction, as if its response arrives while its admission is deferred. */
  admitAndSettle: (request: SettlementRequest) =>
    Effect.uninterruptible(
      Effect.async<Settled | undefined, AdmissionRefusal | Overloaded>((resume) => {
        ledger.admitLater(request.admission, (exit) => {
          resume(Exit.isFailure(exit) ? Effect.failCause(exit.cause) : Effect.dieMessage("the request was not settled"))
        })
        ledger.settleWithAdmission(request, resume)
      })
    ),
  extend: (extension: Extension) =>
    Effect.async<Hold | undefined, Overloaded>((resume) => ledger.extend(extension, resume)),
  settle: (request: SettlementRequest) => Effect.async<Settled | undefined>((resume) => ledger.settle(request, resume)),
  settleLater: (request: SettlementRequest) => Effect.sync(() => ledger.settleLater(request)),
  checkpoint: ledger.checkpoint
})

/** The default deadline of an admission in tests. A busy machine does not reach it. */
export const PATIENCE_MILLIS = 30_000

/** Starts a node with its ledger. Both stop when the scope closes. */
export const aNode = (options: Partial<PgInferenceLedger.LedgerOptions> = {}, settings?: Pg.ClientConfig) =>
  Effect.gen(function* () {
    const own = settings === undefined ? Layer.effect(PgSettings, PgSettings) : Layer.succeed(PgSettings, settings)
    // Nothing is logged, because the tests cause faults intentionally.
    const built = yield* Layer.build(
      PgInferenceLedger.layer({ admissionMillis: PATIENCE_MILLIS, ...options }).pipe(
        Layer.provideMerge(PgNodes.layer),
        Layer.provide(own)
      )
    ).pipe(Logger.withMinimumLogLevel(LogLevel.None))
    return { ledger: inEffects(Context.get(built, InferenceLedger)), nodes: Context.get(built, Nodes) }
  })

export interface CustomerBalances {
  readonly payg: readonly [remaining: bigint, pending: bigint]
  readonly plan: readonly [remaining: bigint, pending: bigint]
}

export const balancesOf = ({ user }: Customer) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ kind: "payg" | "plan"; remaining: bigint; pending: bigint }>`
      SELECT kind, credits_posted - debits_posted AS remaining, debits_pending AS pending
      FROM account WHERE user_id = ${user.id}`
    const of = (kind: string) => {
      const row = rows.find((found) => found.kind === kind)
      return [row?.remaining ?? 0n, row?.pending ?? 0n] as const
    }
    return { payg: of("payg"), plan: of("plan") } satisfies CustomerBalances
  }).pipe(Effect.orDie)

/** Returns the endings of a customer's settlements by request id. */
export const journal = ({ user }: Customer) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ request_id: string; ending: Ending }>`
      SELECT request_id, ending FROM settlement WHERE user_id = ${user.id}`
    return new Map(rows.map(({ request_id, ending }) => [RequestId(request_id), ending]))
  }).pipe(Effect.orDie)

export const openHolds = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ count: bigint }>`SELECT count(*) FROM open_request`
  return row?.count
}).pipe(Effect.orDie)

/** Terminates the backends of all ledger connections. Returns their number. */
export const terminateLedgers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'tollgate ledger'`
  return rows.length
}).pipe(Effect.orDie)

/**
 * Returns the number of statements that wait for a lock. The number is current even when this runs inside a
 * transaction.
 */
export const lockWaits = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`SELECT pg_stat_clear_snapshot()`
  const [row] = yield* sql<{ count: bigint }>`SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`
  return row?.count
}).pipe(Effect.orDie)
