/**
 * Defines `tollgate spend report`, which sums the spend of customers by day, model or reseller.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { type Column, csvOf, exact, text } from "@tollgate/application/operations/CsvExport"
import { readSpend } from "@tollgate/application/operations/RequestRecords"
import { toExactUsdMicro, UsdPico } from "@tollgate/domain/money/UsdPico"
import {
  NO_RESELLER,
  type SpendDimension,
  type SpendSums,
  spendDimensions,
  spentPico
} from "@tollgate/domain/operations/SpendReport"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { CommandFailed } from "../exit/CommandFailed.ts"
import { count, print, writeOut } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { json } from "./ReportCommand.ts"
import { days, flag, invalidRange, option, queryOf } from "./SharedOptions.ts"

const EXPECTED = `one or more of ${spendDimensions.join(", ")}, with commas between them`

const Dimensions = Schema.transform(Schema.String, Schema.Array(Schema.Literal(...spendDimensions)), {
  strict: false,
  decode: (words) => words.split(",").map((word) => word.trim()),
  encode: (words) => words.join(",")
}).pipe(
  Schema.filter((words) => new Set(words).size === words.length),
  Schema.annotations({ message: () => ({ message: EXPECTED, override: true }) })
)

const by = option("by", "DIMENSIONS", Dimensions, `The dimensions of the sums: ${EXPECTED}. Default: day.`).pipe(
  Options.withDefault(["day"] as ReadonlyArray<SpendDimension>)
)

const csv = flag("csv", "Print CSV.")

const oneForm = new CommandFailed({ exit: "usage", code: "usage", message: "Give either --csv or --json." })

const report = Command.make("report", { ...days, by, csv, json }, ({ by, csv, from, json, to }) =>
  Effect.gen(function* () {
    if (csv && json) return yield* oneForm
    const spend = yield* readSpend(by, queryOf({ from, to }))
    if (csv) yield* printCsv(by, spend.rows)
    else {
      yield* print(json, {
        document: {
          time_zone: "Asia/Jakarta",
          from: spend.firstDay,
          to: spend.lastDay,
          rows: spend.rows.map((row) => documentOf(by, row))
        },
        text:
          spend.rows.length === 0
            ? `No settled requests from ${spend.firstDay} to ${spend.lastDay}.`
            : spendTable(by, spend.rows)
      })
    }
  }).pipe(Effect.catchTag("ValidationFailed", invalidRange))
).pipe(
  Command.withDescription(
    "Show the spend of customers. The range has at most 92 days, and by default the last 31 days. A customer of " +
      "several resellers counts for the reseller that it was linked to first."
  )
)

export const spend = Command.make("spend").pipe(
  Command.withDescription("Report the spend of customers."),
  Command.withSubcommands([report])
)

const amounts = (row: SpendSums) => ({
  spent_usd_micro: toExactUsdMicro(UsdPico(spentPico(row))),
  plan_value_usd_micro: toExactUsdMicro(row.planValuePico),
  payg_usd_micro: toExactUsdMicro(row.paygPico),
  written_off_usd_micro: toExactUsdMicro(row.writeoffPico),
  operator_loss_usd_micro: toExactUsdMicro(row.operatorLossPico)
})

const tokensOf = ({ charged }: SpendSums) => ({
  input_tokens: charged.input,
  cache_write_tokens: charged.cacheWrite,
  cache_read_tokens: charged.cacheRead,
  output_tokens: charged.output
})

const dimensionsOf = (by: ReadonlyArray<SpendDimension>, { of }: SpendSums) =>
  Object.fromEntries(by.map((dimension) => [dimension, of[dimension] === NO_RESELLER ? null : (of[dimension] ?? null)]))

const documentOf = (by: ReadonlyArray<SpendDimension>, row: SpendSums) => ({
  ...dimensionsOf(by, row),
  requests: count(row.requests),
  ...Object.fromEntries(Object.entries(tokensOf(row)).map(([name, tokens]) => [name, count(tokens)])),
  ...amounts(row)
})

const printCsv = (by: ReadonlyArray<SpendDimension>, rows: ReadonlyArray<SpendSums>) => {
  const cells = (row: SpendSums) => ({ requests: row.requests, ...tokensOf(row), ...amounts(row) })
  const names = ["requests", "input_tokens", "cache_write_tokens", "cache_read_tokens", "output_tokens"] as const
  const money = [
    "spent_usd_micro",
    "plan_value_usd_micro",
    "payg_usd_micro",
    "written_off_usd_micro",
    "operator_loss_usd_micro"
  ] as const
  const columns: ReadonlyArray<Column<SpendSums>> = [
    ...by.map((dimension): Column<SpendSums> => [dimension, ({ of }) => text(of[dimension])]),
    ...[...names, ...money].map((name): Column<SpendSums> => [name, (row) => exact(cells(row)[name])])
  ]
  const places = new Map(rows.map((row, i) => [row, i]))
  const read = (limit: number, after: SpendSums | undefined) => {
    const first = after === undefined ? 0 : (places.get(after) ?? rows.length) + 1
    return Effect.succeed(rows.slice(first, first + limit))
  }
  return Effect.flatMap(csvOf({ columns, read }), (lines) => Stream.runForEach(lines, writeOut))
}

const spendTable = (by: ReadonlyArray<SpendDimension>, rows: ReadonlyArray<SpendSums>): string =>
  table<SpendSums>(
    [
      ...by.map((dimension) => ({
        heading: dimension,
        cell: ({ of }: SpendSums) => (of[dimension] === NO_RESELLER ? "-" : (of[dimension] ?? "-"))
      })),
      { heading: "requests", cell: ({ requests }) => requests.toString(), align: "right" },
      { heading: "input", cell: ({ charged }) => charged.input.toString(), align: "right" },
      {
        heading: "cached",
        cell: ({ charged: { cacheRead, cacheWrite } }) => `${cacheRead + cacheWrite}`,
        align: "right"
      },
      { heading: "output", cell: ({ charged }) => charged.output.toString(), align: "right" },
      { heading: "spent", cell: (row) => amounts(row).spent_usd_micro, align: "right" },
      { heading: "paid by plans", cell: (row) => amounts(row).plan_value_usd_micro, align: "right" },
      { heading: "written off", cell: (row) => amounts(row).written_off_usd_micro, align: "right" },
      { heading: "operator loss", cell: (row) => amounts(row).operator_loss_usd_micro, align: "right" }
    ],
    rows
  ).concat("\n\nAmounts are in micro-USD. 1000000 micro-USD are one USD.")
