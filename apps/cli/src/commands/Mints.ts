/**
 * Defines `tollgate mints`, which lists the mints of a reseller.
 */
import * as Command from "@effect/cli/Command"
import { MintHistory } from "@tollgate/application/mint/MintHistory"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import type { ListedMint } from "@tollgate/domain/mint/Mint"
import { readTimeRange } from "@tollgate/domain/validation/Days"
import { ValidationFailed } from "@tollgate/domain/validation/Validation"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { count, type Report, timestamp } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { quotaText } from "./Amounts.ts"
import { reportCommand } from "./ReportCommand.ts"
import { days, invalidRange, limit, queryOf, resellerOption } from "./SharedOptions.ts"

const list = reportCommand(
  "list",
  "List the mints of a reseller, newest first.",
  { reseller: resellerOption, ...days, limit },
  ({ from, limit, reseller, to }) =>
    Effect.gen(function* () {
      const range = yield* Either.mapLeft(readTimeRange(queryOf({ from, to })), (details) =>
        invalidRange(new ValidationFailed({ details }))
      )
      const { id, email } = yield* Effect.flatMap(Resellers, (resellers) => resellers.named(reseller))
      const mints = yield* Effect.flatMap(MintHistory, ({ list }) => list(id, { limit, after: undefined, range }))
      return {
        document: mints.map(mintDocument),
        text:
          mints.length === 0
            ? `No mints of ${email} found.`
            : table(
                [
                  { heading: "minted", cell: ({ mintedAt }) => timestamp(mintedAt) },
                  { heading: "customer", cell: ({ customerEmail }) => customerEmail },
                  { heading: "model", cell: ({ modelName }) => modelName },
                  { heading: "tokens", cell: ({ grantedTokens }) => grantedTokens.toString(), align: "right" },
                  { heading: "price", cell: ({ priceUsdMicro }) => quotaText(priceUsdMicro), align: "right" },
                  { heading: "operation id", cell: ({ operationId }) => operationId }
                ],
                mints
              )
      } satisfies Report
    })
)

export const mints = Command.make("mints").pipe(
  Command.withDescription("List the mints of resellers."),
  Command.withSubcommands([list])
)

const mintDocument = (mint: ListedMint) => ({
  operation_id: mint.operationId,
  customer_user_id: mint.customerUserId,
  customer_email: mint.customerEmail,
  plan_tier_id: mint.planTierId,
  model_id: mint.modelId,
  model_name: mint.modelName,
  granted_tokens: count(mint.grantedTokens),
  price_usd_micro: mint.priceUsdMicro.toString(),
  balance_after: mint.balanceAfter.toString(),
  minted_at: timestamp(mint.mintedAt)
})
