/**
 * Defines `tollgate usage`, which shows the daily sums of settled usage and exports the settled requests as CSV.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import {
  customerReader,
  readDailyUsage,
  resellerReader,
  type UsageReader
} from "@tollgate/application/customer/SettledUsage"
import { exportUsage } from "@tollgate/application/customer/UsageExport"
import { Users } from "@tollgate/application/customer/Users"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { displayCostUsdMicroOf } from "@tollgate/domain/customer/Usage"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { CommandFailed } from "../exit/CommandFailed.ts"
import { count, type Report, writeOut } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { reportCommand } from "./ReportCommand.ts"
import { days, invalidRange, oneOwner, queryOf, resellerOption, user } from "./SharedOptions.ts"

const model = Options.text("model").pipe(
  Options.withPseudoName("NAME"),
  Options.withDescription("The public name of a model."),
  Options.optional
)

const selection = { user: Options.optional(user), reseller: Options.optional(resellerOption), ...days, model }

/** Returns the reader whose requests the options select. */
const readerOf = (given: { readonly user: Option.Option<Email>; readonly reseller: Option.Option<string> }) =>
  Effect.gen(function* () {
    if (Option.isSome(given.user) === Option.isSome(given.reseller)) return yield* oneOwner
    const reader: UsageReader = Option.isSome(given.user)
      ? customerReader((yield* (yield* Users).find(given.user.value)).id)
      : resellerReader((yield* (yield* Resellers).named(Option.getOrElse(given.reseller, () => ""))).id)
    return reader
  })

const busy = new CommandFailed({ exit: "failed", code: "overloaded", message: "Too many reads run. Try again." })

const show = reportCommand(
  "show",
  "Show the daily usage of a user, or of all customers of a reseller. The range has at most 92 days, and by default the last 31 days.",
  selection,
  ({ from, model, to, ...owner }) =>
    Effect.gen(function* () {
      const usage = yield* readDailyUsage(yield* readerOf(owner), queryOf({ from, to, model }))
      return {
        document: {
          time_zone: "Asia/Jakarta",
          from: usage.firstDay,
          to: usage.lastDay,
          days: usage.days.map((sums) => ({
            date: sums.day,
            requests: count(sums.requests),
            total_tokens: count(sums.totalTokens),
            display_cost_usd_micro: displayCostUsdMicroOf(sums)
          }))
        },
        text:
          usage.days.length === 0
            ? `No usage from ${usage.firstDay} to ${usage.lastDay}.`
            : table(
                [
                  { heading: "day", cell: ({ day }) => day },
                  { heading: "requests", cell: ({ requests }) => requests.toString(), align: "right" },
                  { heading: "tokens", cell: ({ totalTokens }) => totalTokens.toString(), align: "right" },
                  { heading: "micro-usd", cell: displayCostUsdMicroOf, align: "right" }
                ],
                usage.days
              )
      } satisfies Report
    }).pipe(Effect.catchTags({ ValidationFailed: invalidRange, Overloaded: () => busy }))
)

const exported = Command.make("export", selection, ({ from, model, to, ...owner }) =>
  Effect.gen(function* () {
    const csv = yield* exportUsage(yield* readerOf(owner), queryOf({ from, to, model }))
    yield* Stream.runForEach(csv, writeOut)
  }).pipe(Effect.catchTags({ ValidationFailed: invalidRange, Overloaded: () => busy }))
).pipe(
  Command.withDescription(
    "Print the settled requests of a user, or of all customers of a reseller, as CSV, newest first. The command " +
      "has no option --json."
  )
)

export const usage = Command.make("usage").pipe(
  Command.withDescription("Show and export settled usage."),
  Command.withSubcommands([show, exported])
)
