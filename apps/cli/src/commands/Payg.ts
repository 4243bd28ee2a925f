/**
 * `tollgate payg`: pay-as-you-go balances.
 */
import * as Command from "@effect/cli/Command"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { operatorFor } from "../runtime/Actor.ts"
import type { Answer } from "../terminal/Output.ts"
import { answering } from "./AnsweringCommand.ts"
import { paygDocument, paygText } from "./PaygBalance.ts"
import { option, reason, user } from "./SharedOptions.ts"

/** A million USD; more at once is a slip of the keyboard. */
const MOST = 1_000_000_000_000n

const Amount = Schema.String.pipe(
  Schema.filter((text) => /^[0-9]{1,30}$/.test(text) || "digits only, in micro-USD: 1000000 is one USD"),
  Schema.compose(Schema.BigInt),
  Schema.filter((amount) => (amount > 0n && amount <= MOST) || `1 to ${MOST}, in micro-USD: 1000000 is one USD`)
)

const usdMicro = option("usd-micro", "N", Amount, "How much, in micro-USD: 1000000 is one USD.")
const operationId = option(
  "operation-id",
  "ID",
  OperationId,
  "Your name for this credit: however often it is sent, it is carried out once."
)

const credit = answering(
  "credit",
  "Credit a user's pay-as-you-go balance, once per operation id.",
  { user, usdMicro, operationId, reason },
  ({ operationId, reason, usdMicro, user }) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("payg credit", Option.some(reason))
      const credited = yield* Effect.flatMap(PaygAccounts, (accounts) =>
        accounts.credit({ email: user, amount: UsdMicro(usdMicro), operationId, operator })
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
          ? `The operation ${operationId} was already applied; nothing moved. ${user} has ${balance}.`
          : `Credited ${credited.amountUsdMicro} micro-USD to ${user}, who now has ${balance}.`
      } satisfies Answer
    })
)

export const payg = Command.make("payg").pipe(
  Command.withDescription("Pay-as-you-go balances."),
  Command.withSubcommands([credit])
)
