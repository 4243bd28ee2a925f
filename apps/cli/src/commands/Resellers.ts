/**
 * `tollgate resellers`: who may sell, and the review that decides it.
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
import { operatorFor } from "../runtime/Actor.ts"
import { facts } from "../terminal/Facts.ts"
import { timestamp } from "../terminal/JsonDocument.ts"
import type { Answer } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { answering } from "./AnsweringCommand.ts"
import { quotaText } from "./QuotaBalance.ts"
import { aReseller, oneOf, reason } from "./SharedOptions.ts"

const status = oneOf("status", ResellerStatus.literals, "Only those of this status.")

const list = answering(
  "list",
  "List the resellers, newest first.",
  { status: Options.optional(status) },
  ({ status }) =>
    Effect.gen(function* () {
      const resellers = yield* Effect.flatMap(Resellers, ({ list }) => list(Option.getOrUndefined(status)))
      return {
        document: resellers.map(resellerDocument),
        text:
          resellers.length === 0 ? ["No", ...Option.toArray(status), "resellers."].join(" ") : resellersTable(resellers)
      } satisfies Answer
    })
)

const show = answering(
  "show",
  "Show a reseller and the quota it has left.",
  { reseller: aReseller },
  ({ reseller: named }) =>
    Effect.gen(function* () {
      const reseller = yield* Effect.flatMap(Resellers, (resellers) => resellers.named(named))
      const balance = yield* Effect.flatMap(Quota, (quota) => quota.balance(reseller.id))
      return {
        document: { ...resellerDocument(reseller), balance_usd_micro: balance.toString() },
        text: facts([
          ["Reseller", reseller.email],
          ["Name", reseller.name],
          ["WhatsApp", reseller.waNumber],
          ["Id", reseller.id],
          ["Status", reseller.status],
          ["Signed up", timestamp(reseller.createdAt)],
          ["Quota", quotaText(balance)]
        ])
      } satisfies Answer
    })
)

const reviewing = (move: ReviewMove, description: string, done: string) =>
  answering(move, description, { reseller: aReseller, reason: Options.optional(reason) }, (given) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor(`resellers ${move}`, given.reason)
      const reseller = yield* reviewReseller(given.reseller, move, operator)
      return {
        document: resellerDocument(reseller),
        text: `${reseller.email} is ${reseller.status}: ${done}`
      } satisfies Answer
    })
  )

const approve = reviewing("approve", "Let a pending or rejected reseller in.", "it can log in, top up and mint.")
const reject = reviewing("reject", "Turn a pending reseller away.", "it cannot log in. Undo it with: approve")
const suspend = reviewing(
  "suspend",
  "Lock an active reseller out, from its next request on. Its customers and their keys are not touched.",
  "its tokens are void. Undo it with: reactivate"
)
const reactivate = reviewing("reactivate", "Let a suspended reseller in again.", "it can log in again.")

export const resellers = Command.make("resellers").pipe(
  Command.withDescription("Resellers: who may sell, and the review that decides it."),
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
