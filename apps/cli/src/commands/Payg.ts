/**
 * Defines `tollgate payg`, which credits pay-as-you-go balances.
 */
import * as Command from "@effect/cli/Command"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { MAX_CREDIT } from "@tollgate/domain/customer/PaygCredit"
import { OperationId } from "@tollgate/domain/operations/Operation"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Report } from "../terminal/Output.ts"
import { paygDocument, paygText, usdMicroOption } from "./Amounts.ts"
import { reportCommand } from "./ReportCommand.ts"
import { operatorFor, option, reason, user } from "./SharedOptions.ts"

const usdMicro = usdMicroOption(MAX_CREDIT)
const operationId = option(
  "operation-id",
  "ID",
  OperationId,
  "Your name for this credit. If the command is repeated with the same id, the balance does not change again."
)

const credit = reportCommand(
  "credit",
  "Credit a user's pay-as-you-go balance, once per operation id.",
  { user, usdMicro, operationId, reason },
  ({ operationId, reason, usdMicro, user }) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("payg credit", Option.some(reason))
      const credited = yield* Effect.flatMap(PaygAccounts, (accounts) =>
        accounts.credit({ email: user, amount: usdMicro, operationId, operator })
      )
      const balance = paygText(credited.balancePico)
      return {
        document: {
          user_id: credited.userId,
          email: user,
          operation_id: operationId,
          amount_usd_micro: credited.amountUsdMicro.toString(),
          already_applied: credited.alreadyApplied,
          payg: paygDocument(credited.balancePico)
        },
        text: credited.alreadyApplied
          ? `The operation id ${operationId} was already applied, so no balance was changed. The balance of ${user} is ${balance}.`
          : `Credited ${credited.amountUsdMicro} micro-USD to ${user}; the balance is now ${balance}.`
      } satisfies Report
    })
)

export const payg = Command.make("payg").pipe(
  Command.withDescription("Credit pay-as-you-go balances."),
  Command.withSubcommands([credit])
)
