/**
 * Lists the holds of open requests and the nodes, and settles the holds of dead nodes
 * (docs/reference/operator.md#holds-and-nodes).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { type OpenHold, OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import type { ListedNode } from "@tollgate/application/operations/Nodes"
import { NodeList } from "@tollgate/application/operations/Nodes"
import { listHolds, listNodes } from "@tollgate/application/operator/OperatorLists"
import { toExactUsdMicro } from "@tollgate/domain/money/UsdPico"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { withOnly } from "../http/RouteServices.ts"
import { instant, instantOrNull, integer, orNull, text, timestamp, uuid, wholeNumber } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { cursorParameters, pageOf } from "../openapi/ListDocs.ts"
import { documented, OperatorError } from "../openapi/OperatorDocs.ts"
import { forOperator, operatorServices, pageForOperator } from "./OperatorCaller.ts"

const hold = {
  request_id: "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70",
  email: "customer@example.com",
  model: "demo-chat",
  plan_tokens: 0,
  payg_usd_micro: "2048.5",
  delivered_input_tokens: 120,
  delivered_output_tokens: 640,
  held_at: "2026-11-20T09:30:00.000Z",
  orphaned: false
}

const HoldBody = Schema.Struct({
  request_id: uuid("The id of the request.", hold.request_id),
  email: text("The customer's email.", hold.email),
  model: text("The public name of the model.", hold.model),
  plan_tokens: integer("The tokens that are set aside in the token plan.", hold.plan_tokens),
  payg_usd_micro: text(
    "The pay-as-you-go balance that is set aside, in micro-USD, as digits with an optional fraction.",
    hold.payg_usd_micro
  ),
  delivered_input_tokens: integer("The prompt tokens of the last checkpoint.", hold.delivered_input_tokens),
  delivered_output_tokens: integer("The output tokens of the last checkpoint.", hold.delivered_output_tokens),
  held_at: timestamp("The time at which the hold was created.", hold.held_at),
  orphaned: Schema.Boolean.annotations({ description: "True if the node of the request is dead." })
}).annotations({ identifier: "OpenHold", examples: [hold] })

const HoldPage = pageOf(HoldBody, {
  identifier: "OpenHoldPage",
  description: "The open holds, oldest first.",
  example: hold
})

const SweptBody = Schema.Struct({
  swept: integer("The number of settled holds.", 0)
}).annotations({ identifier: "SweptHolds", examples: [{ swept: 0 }] })

const node = {
  node_id: "019a9f0e-9999-7d1a-9a41-6f1f0d7b2c11",
  state: "alive" as const,
  started_at: "2026-11-20T09:00:00.000Z",
  beat_at: "2026-11-20T09:30:00.000Z",
  left_at: null,
  open_requests: 12,
  last_migration: "0019_node_versions"
}

const NodeBody = Schema.Struct({
  node_id: uuid("The id of the node.", node.node_id),
  state: Schema.Literal("alive", "dead", "left").annotations({
    description:
      "`alive`: sends heartbeats. `dead`: has sent none for too long. `left`: has stopped normally, or was a worker " +
      "whose process ended."
  }),
  started_at: timestamp("The time at which the node started.", node.started_at),
  beat_at: timestamp("The time of the last heartbeat.", node.beat_at),
  left_at: orNull(timestamp("The time from which the state is `left`; otherwise `null`.", node.beat_at)),
  open_requests: integer("The number of open requests of the node.", node.open_requests),
  last_migration: Schema.NullOr(Schema.String).annotations({
    description:
      "The last migration that the program of the node contains; `null` if its release is older than the migration `0019_node_versions`.",
    examples: [node.last_migration]
  })
}).annotations({ identifier: "OperatorNode", examples: [node] })

const NodePage = pageOf(NodeBody, {
  identifier: "OperatorNodePage",
  description:
    "The nodes, most recently started first. A node that starts deletes the nodes that sent no heartbeat for a week.",
  example: node
})

const readHolds = HttpApiEndpoint.get("listHolds", "/api/operator/holds")
  .setUrlParams(Schema.Struct(cursorParameters))
  .addSuccess(HoldPage)
  .annotateContext(documented({ summary: "List the holds of open requests", errors: ["ValidationFailed"] }))

const sweep = HttpApiEndpoint.post("sweepHolds", "/api/operator/holds/sweep")
  .addSuccess(SweptBody)
  .annotateContext(
    documented({
      summary: "Settle the holds of dead nodes at their last checkpoints",
      description: "Running servers also do this automatically. The request has no body.",
      errors: []
    })
  )

const readNodes = HttpApiEndpoint.get("listNodes", "/api/operator/nodes")
  .setUrlParams(Schema.Struct(cursorParameters))
  .addSuccess(NodePage)
  .annotateContext(documented({ summary: "List the nodes", errors: ["ValidationFailed"] }))

export class OperatorHoldsApi extends HttpApiGroup.make("operatorHolds")
  .add(readHolds)
  .add(sweep)
  .add(readNodes)
  .addError(OperatorError)
  .annotateContext(
    OpenApi.annotations({
      title: "Operator: holds and nodes",
      description: "Open requests, and the nodes that serve them."
    })
  ) {}

const toHold = (open: OpenHold): typeof HoldBody.Type => ({
  request_id: open.requestId,
  email: open.email,
  model: open.model,
  plan_tokens: wholeNumber(open.hold.planTokens),
  payg_usd_micro: toExactUsdMicro(open.hold.paygPico),
  delivered_input_tokens: wholeNumber(open.checkpoint.input),
  delivered_output_tokens: wholeNumber(open.checkpoint.output),
  held_at: instant(open.heldAt),
  orphaned: open.orphaned
})

const toNode = (listed: ListedNode): typeof NodeBody.Type => ({
  node_id: listed.id,
  state: listed.state,
  started_at: instant(listed.startedAt),
  beat_at: instant(listed.beatAt),
  left_at: instantOrNull(listed.leftAt),
  open_requests: listed.openRequests,
  last_migration: listed.lastMigration
})

const swept = forOperator(() =>
  Effect.map(
    Effect.flatMap(OpenHolds, (holds) => holds.sweep),
    (count): typeof SweptBody.Type => ({ swept: count })
  )
)

export const layer = HttpApiBuilder.group(gateway.add(OperatorHoldsApi), "operatorHolds", (handlers) =>
  handlers
    .handleRaw("listHolds", ({ urlParams }) => pageForOperator(urlParams, listHolds, toHold))
    .handleRaw("sweepHolds", () => swept)
    .handleRaw("listNodes", ({ urlParams }) => pageForOperator(urlParams, listNodes, toNode))
).pipe(withOnly(...operatorServices, CursorSealer, NodeList, OpenHolds))
