/**
 * Defines `tollgate customers`, which links users to resellers.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Customers } from "@tollgate/application/customer/Customers"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import * as Effect from "effect/Effect"
import type { Report } from "../terminal/Output.ts"
import { reportCommand } from "./ReportCommand.ts"
import { operatorFor, reason, resellerOption, user } from "./SharedOptions.ts"

const link = reportCommand(
  "link",
  "Make a user a customer of a reseller. The reseller can then create keys for the user and read the user's balances.",
  { reseller: resellerOption, user, reason: Options.optional(reason) },
  (given) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("customers link", given.reason)
      const { email, id } = yield* Effect.flatMap(Resellers, (resellers) => resellers.named(given.reseller))
      const customer = yield* Effect.flatMap(Customers, (customers) => customers.link(id, given.user, operator))
      return {
        document: { user_id: customer.userId, email: customer.email, reseller_id: id, reseller_email: email },
        text: `${customer.email} (${customer.userId}) is a customer of ${email}.`
      } satisfies Report
    })
)

export const customers = Command.make("customers").pipe(
  Command.withDescription("Link users to resellers."),
  Command.withSubcommands([link])
)
