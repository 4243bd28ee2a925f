/**
 * `tollgate quota`: the prepaid quota of resellers, changed by hand.
 */
import * as Command from "@effect/cli/Command"
import { Quota } from "@tollgate/application/reseller/Quota"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { QuotaChange } from "@tollgate/domain/reseller/QuotaAdjustment"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { operatorFor } from "../runtime/Actor.ts"
import type { Answer } from "../terminal/Output.ts"
import { answering } from "./AnsweringCommand.ts"
import { quotaText } from "./QuotaBalance.ts"
import { option, reason, reseller } from "./SharedOptions.ts"

const Change = Schema.String.pipe(
  Schema.filter((text) => /^-?[0-9]{1,30}$/.test(text) || "digits, with - to take back, in micro-USD"),
  Schema.compose(Schema.BigInt),
  Schema.filter((amount) => Either.isRight(QuotaChange.either(amount)) || "not 0, and at most 1000000000 USD"),
  Schema.fromBrand(QuotaChange)
)

const usdMicro = option("usd-micro", "N", Change, "How much, in micro-USD (1000000 is one USD); -N takes back.")
const operationId = option(
  "operation-id",
  "ID",
  OperationId,
  "Your name for this change: however often it is sent, it is carried out once."
)

const adjust = answering(
  "adjust",
  "Give a reseller quota or take it back, once per operation id, and never below zero.",
  { reseller, usdMicro, operationId, reason },
  (given) =>
    Effect.gen(function* () {
      const { operationId } = given
      const operator = yield* operatorFor("quota adjust", Option.some(given.reason))
      const { email, id } = yield* Effect.flatMap(Resellers, (resellers) => resellers.named(given.reseller))
      const adjusted = yield* Effect.flatMap(Quota, (quota) =>
        quota.adjust({ resellerId: id, change: given.usdMicro, operationId }, operator)
      )
      const balance = quotaText(adjusted.balanceUsdMicro)
      return {
        document: {
          reseller_id: id,
          email,
          operation_id: operationId,
          amount_usd_micro: adjusted.change.toString(),
          already_applied: adjusted.alreadyApplied,
          balance_usd_micro: adjusted.balanceUsdMicro.toString()
        },
        text: adjusted.alreadyApplied
          ? `The operation ${operationId} was already applied; nothing moved. ${email} has ${balance}.`
          : `${changed(adjusted.change)} ${email}, who now has ${balance}.`
      } satisfies Answer
    })
)

export const quota = Command.make("quota").pipe(
  Command.withDescription("Quota: what resellers have prepaid."),
  Command.withSubcommands([adjust])
)

const changed = (change: QuotaChange): string =>
  change < 0n ? `Took ${-change} micro-USD from` : `Gave ${change} micro-USD to`
