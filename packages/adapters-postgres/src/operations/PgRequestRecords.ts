/**
 * Reads the stored data of one request. Each lookup uses a primary key or an index.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { RequestRecords } from "@tollgate/application/operations/RequestRecords"
import type { Ending } from "@tollgate/domain/inference/Charge"
import { type Protocol, RequestId } from "@tollgate/domain/inference/InferenceRequest"
import {
  type OpenRecord,
  RequestNotFound,
  type RequestRecord,
  type SettledRecord
} from "@tollgate/domain/inference/RequestRecord"
import { writeOffReason } from "@tollgate/domain/inference/WriteOff"
import { cost, PicoPerToken, type Price } from "@tollgate/domain/ledger/Price"
import type { UsageSource } from "@tollgate/domain/ledger/Settlement"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { sqlErrorsAreDefects } from "../client/Transact.ts"
import { isLate } from "../ledger/PgOpenHolds.ts"

interface CommonRow {
  readonly request_id: string
  readonly user_id: string
  readonly email: string
  readonly resellers: ReadonlyArray<string>
  readonly api_key_id: string
  readonly key_public_id: string
  readonly key_name: string
  readonly model: string
  readonly providers: ReadonlyArray<string>
  readonly upstream_models: ReadonlyArray<string>
  readonly protocol: Protocol
  readonly streamed: boolean
  readonly input: bigint
  readonly cache_write: bigint
  readonly cache_read: bigint
  readonly output: bigint
  readonly held_at: Date
  readonly image_state: string | null
  readonly review_reason: string | null
  readonly review_resolution: string | null
}

interface OpenRow extends CommonRow {
  readonly plan_tokens: bigint
  readonly payg_pico: bigint
  readonly checkpoint_input: bigint
  readonly checkpoint_output: bigint
  readonly node_id: string
  readonly orphaned: boolean
}

type TokenColumns<Prefix extends string> = {
  readonly [Class in "input" | "cache_write" | "cache_read" | "output" as `${Prefix}_${Class}`]: bigint
}

interface SettledRow extends CommonRow, TokenColumns<"charged">, TokenColumns<"consumed"> {
  readonly ending: Ending
  readonly usage_source: UsageSource
  readonly cost_pico: bigint
  readonly plan_tokens: bigint
  readonly plan_value_pico: bigint
  readonly payg_pico: bigint
  readonly writeoff_pico: bigint
  readonly ttft_millis: number | null
  readonly duration_millis: number
  readonly settled_at: Date
}

export interface RequestRecordsOptions {
  readonly nodeDeadAfterSeconds: number
}

export const layer = ({
  nodeDeadAfterSeconds
}: RequestRecordsOptions): Layer.Layer<RequestRecords, never, SqlClient.SqlClient> =>
  Layer.effect(
    RequestRecords,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return {
        find: (id) =>
          Effect.gen(function* () {
            // A request can be settled between the two reads. The settlement is read last, so that the request is found
            // in every case.
            const [open] = yield* sql.unsafe<OpenRow>(OPEN, [nodeDeadAfterSeconds, id])
            if (open !== undefined) return toRecord(open, toOpen(open))
            const [settled] = yield* sql.unsafe<SettledRow>(SETTLED, [id])
            return settled === undefined
              ? yield* new RequestNotFound({ requestId: id })
              : toRecord(settled, toSettled(settled))
          }).pipe(sqlErrorsAreDefects)
      }
    })
  )

/** The columns and joins that an open and a settled request share. The request has the alias `r`. */
const COMMON = `
  r.request_id, r.user_id, u.email, r.api_key_id, k.public_id AS key_public_id, k.name AS key_name,
  m.public_name AS model, r.protocol, r.streamed, r.held_at, p.input, p.cache_write, p.cache_read, p.output,
  ARRAY(SELECT seller.email FROM reseller_customer c JOIN reseller seller ON seller.id = c.reseller_id
    WHERE c.user_id = r.user_id ORDER BY c.linked_at, seller.email) AS resellers,
  ARRAY(SELECT route.provider FROM route WHERE route.model_id = r.model_id
    ORDER BY route.priority, route.provider, route.upstream_model) AS providers,
  ARRAY(SELECT route.upstream_model FROM route WHERE route.model_id = r.model_id
    ORDER BY route.priority, route.provider, route.upstream_model) AS upstream_models,
  image.state AS image_state, review.reason AS review_reason, review.resolution AS review_resolution`

const JOINS = `
  JOIN app_user u ON u.id = r.user_id
  JOIN api_key k ON k.id = r.api_key_id
  JOIN model m ON m.id = r.model_id
  JOIN price p ON p.id = r.price_id
  LEFT JOIN image_request image ON image.request_id = r.request_id
  LEFT JOIN image_review review ON review.request_id = r.request_id`

const OPEN = `
  SELECT ${COMMON}, r.plan_tokens, r.payg_pico, r.checkpoint_input, r.checkpoint_output, r.node_id,
    ${isLate("$1")} AS orphaned
  FROM open_request r ${JOINS} LEFT JOIN gateway_node AS node ON node.id = r.node_id
  WHERE r.request_id = $2::uuid`

const SETTLED = `
  SELECT ${COMMON}, r.ending, r.usage_source, r.charged_input, r.charged_cache_write, r.charged_cache_read,
    r.charged_output, r.consumed_input, r.consumed_cache_write, r.consumed_cache_read, r.consumed_output, r.cost_pico,
    r.plan_tokens, r.plan_value_pico, r.payg_pico, r.writeoff_pico, r.ttft_millis, r.duration_millis, r.settled_at
  FROM settlement r ${JOINS} WHERE r.request_id = $1::uuid`

const priceOf = (row: CommonRow): Price => ({
  input: PicoPerToken(row.input),
  cacheWrite: PicoPerToken(row.cache_write),
  cacheRead: PicoPerToken(row.cache_read),
  output: PicoPerToken(row.output)
})

const toRecord = (row: CommonRow, state: OpenRecord | SettledRecord): RequestRecord => ({
  requestId: RequestId(row.request_id),
  userId: row.user_id,
  email: row.email,
  resellers: row.resellers,
  keyId: row.api_key_id,
  keyPublicId: row.key_public_id,
  keyName: row.key_name,
  model: row.model,
  routes: row.providers.map((provider, i) => ({
    provider,
    upstreamModel: row.upstream_models[i] ?? ""
  })),
  protocol: row.protocol,
  streamed: row.streamed,
  price: priceOf(row),
  heldAt: row.held_at,
  state,
  image:
    row.image_state === null
      ? undefined
      : {
          state: row.image_state,
          reviewReason: row.review_reason ?? undefined,
          reviewResolution: row.review_resolution ?? undefined
        }
})

const toOpen = (row: OpenRow): OpenRecord => ({
  _tag: "Open",
  hold: { planTokens: Tokens(row.plan_tokens), paygPico: UsdPico(row.payg_pico) },
  checkpoint: { input: Tokens(row.checkpoint_input), output: Tokens(row.checkpoint_output) },
  node: row.node_id,
  orphaned: row.orphaned
})

const toSettled = (row: SettledRow): SettledRecord => {
  const charged = {
    input: Tokens(row.charged_input),
    cacheWrite: Tokens(row.charged_cache_write),
    cacheRead: Tokens(row.charged_cache_read),
    output: Tokens(row.charged_output)
  }
  const consumed = {
    input: Tokens(row.consumed_input),
    cacheWrite: Tokens(row.consumed_cache_write),
    cacheRead: Tokens(row.consumed_cache_read),
    output: Tokens(row.consumed_output)
  }
  const { ending, protocol, streamed, usage_source: source } = row
  const lostPico = cost(priceOf(row), consumed) - row.cost_pico
  return {
    _tag: "Settled",
    ending,
    source,
    charged,
    consumed,
    settlement: {
      costPico: UsdPico(row.cost_pico),
      planTokens: Tokens(row.plan_tokens),
      planValuePico: UsdPico(row.plan_value_pico),
      paygPico: UsdPico(row.payg_pico),
      writeoffPico: UsdPico(row.writeoff_pico)
    },
    writeOffReason: row.writeoff_pico > 0n ? writeOffReason({ protocol, streamed, ending, source }) : undefined,
    operatorLossPico: UsdPico(lostPico > 0n ? lostPico : 0n),
    ttftMillis: row.ttft_millis ?? undefined,
    durationMillis: row.duration_millis,
    settledAt: row.settled_at
  }
}
