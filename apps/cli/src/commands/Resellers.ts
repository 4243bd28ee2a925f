/**
 * Defines `tollgate resellers`, which lists, reviews, suspends and reactivates resellers.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Quota } from "@tollgate/application/reseller/Quota"
import { reviewReseller } from "@tollgate/application/reseller/ResellerAccess"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { type Reseller, ResellerStatus } from "@tollgate/domain/reseller/Reseller"
import type { ReviewMove } from "@tollgate/domain/reseller/Review"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Report } from "../terminal/Output.ts"
import { timestamp } from "../terminal/Output.ts"
import { namedValues, table } from "../terminal/Table.ts"
import { quotaText } from "./Amounts.ts"
import { reportCommand } from "./ReportCommand.ts"
import { oneOf, operatorFor, reason, resellerArgument } from "./SharedOptions.ts"

const status = oneOf("status", ResellerStatus.literals, "List only resellers with this status.")

const list = reportCommand(
  "list",
  "List resellers, newest first.",
  { status: Options.optional(status) },
  ({ status }) =>
    Effect.gen(function* () {
      const resellers = yield* Effect.flatMap(Resellers, ({ list }) => list(Option.getOrUndefined(status)))
      return {
        document: resellers.map(resellerDocument),
        text:
          resellers.length === 0 ? ["No", ...Option.toArray(status), "resellers."].join(" ") : resellersTable(resellers)
      } satisfies Report
    })
)

const show = reportCommand(
  "show",
  "Show a reseller and its remaining quota.",
  { reseller: resellerArgument },
  ({ reseller: named }) =>
    Effect.gen(function* () {
      const reseller = yield* Effect.flatMap(Resellers, (resellers) => resellers.named(named))
      const balance = yield* Effect.flatMap(Quota, (quota) => quota.balance(reseller.id))
      return {
        document: { ...resellerDocument(reseller), balance_usd_micro: balance.toString() },
        text: namedValues([
          ["Reseller", reseller.email],
          ["Name", reseller.name],
          ["WhatsApp", reseller.waNumber],
          ["Id", reseller.id],
          ["Status", reseller.status],
          ["Signed up", timestamp(reseller.createdAt)],
          ["Quota", quotaText(balance)]
        ])
      } satisfies Report
    })
)

const reviewing = (move: ReviewMove, description: string, done: string, undo?: ReviewMove) =>
  reportCommand(move, description, { reseller: resellerArgument, reason: Options.optional(reason) }, (given) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor(`resellers ${move}`, given.reason)
      const reseller = yield* reviewReseller(given.reseller, move, operator)
      return {
        document: resellerDocument(reseller),
        text:
          `${reseller.email} is ${reseller.status}: ${done}` +
          (undo === undefined ? "" : ` Undo with: tollgate resellers ${undo} ${reseller.email}`)
      } satisfies Report
    })
  )

const approve = reviewing("approve", "Approve a pending or rejected reseller.", "it can log in, top up and mint.")
const reject = reviewing("reject", "Reject a pending reseller.", "it cannot log in.", "approve")
const suspend = reviewing(
  "suspend",
  "Suspend an active reseller. Its login tokens stop working immediately; its customers and their API keys are not affected.",
  "its login tokens no longer work.",
  "reactivate"
)
const reactivate = reviewing("reactivate", "Reactivate a suspended reseller.", "it can log in again.")

export const resellers = Command.make("resellers").pipe(
  Command.withDescription("Review, suspend and show resellers."),
  Command.withSubcommands([list, show, approve, reject, suspend, reactivate])
)

const resellerDocument = (reseller: Reseller) => ({
  id: reseller.id,
  email: reseller.email,
  name: reseller.name,
  wa_number: reseller.waNumber,
  status: reseller.status,
  created_at: timestamp(reseller.createdAt)
})

const resellersTable = (resellers: ReadonlyArray<Reseller>): string =>
  table(
    [
      { heading: "signed up", cell: (reseller) => timestamp(reseller.createdAt) },
      { heading: "email", cell: (reseller) => reseller.email },
      { heading: "name", cell: (reseller) => reseller.name },
      { heading: "whatsapp", cell: (reseller) => reseller.waNumber },
      { heading: "status", cell: (reseller) => reseller.status },
      { heading: "id", cell: (reseller) => reseller.id }
    ],
    resellers
  )
