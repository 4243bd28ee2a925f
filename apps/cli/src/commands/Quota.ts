/**
 * Defines `tollgate quota`, which changes the prepaid quota of resellers.
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
import type { Report } from "../terminal/Output.ts"
import { quotaText } from "./Amounts.ts"
import { reportCommand } from "./ReportCommand.ts"
import { operatorFor, option, reason, resellerOption } from "./SharedOptions.ts"

const Change = Schema.String.pipe(
  Schema.filter((text) => /^-?[0-9]{1,30}$/.test(text) || "a whole number of micro-USD, with a leading - to deduct"),
  Schema.compose(Schema.BigInt),
  Schema.filter(
    (amount) => Either.isRight(QuotaChange.either(amount)) || "an amount other than 0, of at most 1000000000 USD"
  ),
  Schema.fromBrand(QuotaChange)
)

const usdMicro = option(
  "usd-micro",
  "N",
  Change,
  "Amount in micro-USD. 1000000 micro-USD are one USD. A negative amount deducts quota."
)
const operationId = option(
  "operation-id",
  "ID",
  OperationId,
  "Your name for this change. If the command is repeated with the same id, the quota does not change again."
)

const adjust = reportCommand(
  "adjust",
  "Add quota to a reseller, or deduct quota, once per operation id. Quota never becomes negative.",
  { reseller: resellerOption, usdMicro, operationId, reason },
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
          ? `The operation id ${operationId} was already applied, so no balance was changed. The quota of ${email} is ${balance}.`
          : `${changed(adjusted.change)} ${email}; the quota is now ${balance}.`
      } satisfies Report
    })
)

export const quota = Command.make("quota").pipe(
  Command.withDescription("Adjust the prepaid quota of resellers."),
  Command.withSubcommands([adjust])
)

const changed = (change: QuotaChange): string =>
  change < 0n ? `Deducted ${-change} micro-USD from` : `Added ${change} micro-USD to`
