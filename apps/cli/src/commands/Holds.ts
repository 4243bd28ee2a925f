/**
 * Defines `tollgate holds`, which lists the holds of open requests, and settles the holds of dead nodes.
 */
import * as Command from "@effect/cli/Command"
import { type OpenHold, OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { toExactUsdMicro } from "@tollgate/domain/money/UsdPico"
import * as Effect from "effect/Effect"
import type { Report } from "../terminal/Output.ts"
import { count, timestamp } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { reportCommand } from "./ReportCommand.ts"

const list = reportCommand("list", "List the open holds, oldest first.", {}, () =>
  Effect.gen(function* () {
    const holds = yield* Effect.flatMap(OpenHolds, (holds) => holds.list)
    const orphaned = holds.filter((hold) => hold.orphaned).length
    return {
      document: holds.map(holdDocument),
      text: [
        holds.length === 0 ? "No open holds." : holdsTable(holds),
        ...(orphaned === 0
          ? []
          : [
              `${belongs(orphaned)}. A running server settles the holds of dead nodes. To settle them now, run: tollgate holds sweep`
            ])
      ].join("\n\n")
    } satisfies Report
  })
)

const sweep = reportCommand("sweep", "Settle each hold of a dead node at the last checkpoint of its request.", {}, () =>
  Effect.gen(function* () {
    const swept = yield* Effect.flatMap(OpenHolds, (holds) => holds.sweep)
    return {
      document: { swept },
      text:
        swept === 0
          ? "There are no holds of dead nodes to settle."
          : `Settled ${swept} ${swept === 1 ? "hold" : "holds"} of dead nodes.`
    } satisfies Report
  })
)

export const holds = Command.make("holds").pipe(
  Command.withDescription("Manage holds: the money and tokens set aside for running requests."),
  Command.withSubcommands([list, sweep])
)

const belongs = (orphaned: number): string =>
  orphaned === 1 ? "1 of them belongs to a dead node" : `${orphaned} of them belong to dead nodes`

const holdDocument = (open: OpenHold) => ({
  request_id: open.requestId,
  email: open.email,
  model: open.model,
  plan_tokens: count(open.hold.planTokens),
  payg_usd_micro: toExactUsdMicro(open.hold.paygPico),
  delivered_input_tokens: count(open.checkpoint.input),
  delivered_output_tokens: count(open.checkpoint.output),
  held_at: timestamp(open.heldAt),
  orphaned: open.orphaned
})

const holdsTable = (holds: ReadonlyArray<OpenHold>): string =>
  table(
    [
      { heading: "held at", cell: (open) => timestamp(open.heldAt) },
      { heading: "request", cell: (open) => open.requestId },
      { heading: "user", cell: (open) => open.email },
      { heading: "model", cell: (open) => open.model },
      { heading: "plan tokens", cell: (open) => open.hold.planTokens.toString(), align: "right" },
      { heading: "payg micro-usd", cell: (open) => toExactUsdMicro(open.hold.paygPico), align: "right" },
      { heading: "delivered output", cell: (open) => open.checkpoint.output.toString(), align: "right" },
      { heading: "node", cell: (open) => (open.orphaned ? "dead" : "alive") }
    ],
    holds
  )
