/**
 * Defines `tollgate requests show`, which shows the stored data of one request.
 */
import * as Command from "@effect/cli/Command"
import { RequestRecords } from "@tollgate/application/operations/RequestRecords"
import {
  type OpenRecord,
  type RequestRecord,
  readRequestId,
  type SettledRecord
} from "@tollgate/domain/inference/RequestRecord"
import type { Price } from "@tollgate/domain/ledger/Price"
import type { TokenUsage } from "@tollgate/domain/ledger/TokenUsage"
import { toExactUsdMicro } from "@tollgate/domain/money/UsdPico"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { count, type Json, type Report, timestamp } from "../terminal/Output.ts"
import { namedValues, table } from "../terminal/Table.ts"
import { reportCommand } from "./ReportCommand.ts"
import { argument } from "./SharedOptions.ts"

const RequestIdText = Schema.String.pipe(
  Schema.filter(
    (text) =>
      Option.isSome(readRequestId(text)) ||
      "the UUID in the header x-request-id, or the id of a response, like chatcmpl-0193a5c2..."
  )
)
const request = argument(
  "id",
  RequestIdText,
  "The request's id, from the header x-request-id or the id of the response."
)

const show = reportCommand(
  "show",
  "Show a request: its customer, key, model, hold or settlement, tokens, price, charge and times.",
  { request },
  ({ request }) =>
    Effect.gen(function* () {
      const id = Option.getOrThrow(readRequestId(request))
      const record = yield* Effect.flatMap(RequestRecords, ({ find }) => find(id))
      return { document: documentOf(record), text: textOf(record) } satisfies Report
    })
)

export const requests = Command.make("requests").pipe(
  Command.withDescription("Examine single requests."),
  Command.withSubcommands([show])
)

const tokensDocument = (tokens: TokenUsage) => ({
  input: count(tokens.input),
  cache_write: count(tokens.cacheWrite),
  cache_read: count(tokens.cacheRead),
  output: count(tokens.output)
})

/** Returns the price in micro-USD per million tokens, as in a catalog file. */
const priceDocument = (price: Price) => ({
  input: count(price.input),
  cache_write: count(price.cacheWrite),
  cache_read: count(price.cacheRead),
  output: count(price.output)
})

const openDocument = ({ checkpoint, hold, node, orphaned }: OpenRecord) => ({
  plan_tokens: count(hold.planTokens),
  payg_usd_micro: toExactUsdMicro(hold.paygPico),
  delivered_input_tokens: count(checkpoint.input),
  delivered_output_tokens: count(checkpoint.output),
  node_id: node,
  orphaned
})

const settledDocument = (state: SettledRecord) => ({
  ending: state.ending,
  usage_source: state.source,
  charged_tokens: tokensDocument(state.charged),
  consumed_tokens: tokensDocument(state.consumed),
  cost_usd_micro: toExactUsdMicro(state.settlement.costPico),
  plan_tokens: count(state.settlement.planTokens),
  plan_value_usd_micro: toExactUsdMicro(state.settlement.planValuePico),
  payg_usd_micro: toExactUsdMicro(state.settlement.paygPico),
  written_off_usd_micro: toExactUsdMicro(state.settlement.writeoffPico),
  write_off_reason: state.writeOffReason ?? null,
  operator_loss_usd_micro: toExactUsdMicro(state.operatorLossPico),
  time_to_first_token_millis: state.ttftMillis ?? null,
  duration_millis: state.durationMillis,
  settled_at: timestamp(state.settledAt)
})

const documentOf = (record: RequestRecord): Json => ({
  request_id: record.requestId,
  state: record.state._tag === "Open" ? "open" : "settled",
  user_id: record.userId,
  email: record.email,
  resellers: [...record.resellers],
  key_id: record.keyId,
  key_public_id: record.keyPublicId,
  key_name: record.keyName,
  model: record.model,
  routes: record.routes.map(({ provider, upstreamModel }) => ({ provider, upstream_model: upstreamModel })),
  protocol: record.protocol,
  streamed: record.streamed,
  price_usd_micro_per_million_tokens: priceDocument(record.price),
  held_at: timestamp(record.heldAt),
  hold: record.state._tag === "Open" ? openDocument(record.state) : null,
  settlement: record.state._tag === "Settled" ? settledDocument(record.state) : null,
  image:
    record.image === undefined
      ? null
      : {
          state: record.image.state,
          review_reason: record.image.reviewReason ?? null,
          review_resolution: record.image.reviewResolution ?? null
        }
})

const textOf = (record: RequestRecord): string =>
  [
    namedValues([
      ["Request", record.requestId],
      ["State", record.state._tag === "Open" ? "open: not settled yet" : `settled: ${record.state.ending}`],
      ["Customer", `${record.email} (${record.userId})`],
      ["Resellers", record.resellers.join(", ") || "-"],
      ["API key", `${record.keyName} (public id ${record.keyPublicId}, ${record.keyId})`],
      ["Model", `${record.model}, protocol ${record.protocol}${record.streamed ? ", streamed" : ""}`],
      ["Current routes", record.routes.map(({ provider, upstreamModel }) => `${provider} ${upstreamModel}`).join(", ")],
      ["Admitted", timestamp(record.heldAt)],
      ...(record.state._tag === "Open" ? openValues(record.state) : settledValues(record.state)),
      ...(record.image === undefined ? [] : [["Image", imageText(record.image)] as const])
    ]),
    ...(record.state._tag === "Settled" ? [tokensTable(record.state, record.price)] : []),
    "The provider of an attempt is not stored. The log names providers that failed: search it for the request id."
  ].join("\n\n")

const openValues = ({ checkpoint, hold, node, orphaned }: OpenRecord) =>
  [
    ["Hold", `${hold.planTokens} plan tokens and ${toExactUsdMicro(hold.paygPico)} micro-USD`],
    ["Delivered so far", `${checkpoint.input} input and ${checkpoint.output} output tokens (last checkpoint)`],
    ["Node", `${node} (${orphaned ? "dead: a sweep settles the request" : "alive"})`]
  ] as const

const settledValues = ({ settlement, ...state }: SettledRecord) =>
  [
    ["Settled", timestamp(state.settledAt)],
    ["First token after", state.ttftMillis === undefined ? "-" : `${state.ttftMillis} ms`],
    ["Duration", `${state.durationMillis} ms`],
    ["Usage from", state.source],
    ["Cost", `${toExactUsdMicro(settlement.costPico)} micro-USD`],
    ["Paid by plan", `${settlement.planTokens} tokens, worth ${toExactUsdMicro(settlement.planValuePico)} micro-USD`],
    ["Paid by payg", `${toExactUsdMicro(settlement.paygPico)} micro-USD`],
    ["Written off", `${toExactUsdMicro(settlement.writeoffPico)} micro-USD${reasonText(state.writeOffReason)}`],
    ["Operator loss", `${toExactUsdMicro(state.operatorLossPico)} micro-USD`]
  ] as const

const reasonText = (reason: SettledRecord["writeOffReason"]): string => (reason === undefined ? "" : ` (${reason})`)

const imageText = ({ reviewReason, reviewResolution, state }: NonNullable<RequestRecord["image"]>): string =>
  reviewReason === undefined ? state : `${state}; review: ${reviewReason}, ${reviewResolution ?? "waiting"}`

const tokensTable = ({ charged, consumed }: SettledRecord, price: Price): string =>
  table(
    [
      { heading: "token class", cell: ([name]) => name },
      { heading: "charged", cell: ([, of]) => charged[of].toString(), align: "right" },
      { heading: "used by provider", cell: ([, of]) => consumed[of].toString(), align: "right" },
      { heading: "micro-usd per million", cell: ([, of]) => price[of].toString(), align: "right" }
    ],
    [
      ["input", "input"],
      ["cache write", "cacheWrite"],
      ["cache read", "cacheRead"],
      ["output", "output"]
    ] as const satisfies ReadonlyArray<readonly [string, keyof Price]>
  )
