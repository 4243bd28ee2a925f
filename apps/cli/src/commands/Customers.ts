/**
 * `tollgate customers`: whose users are whose.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Customers } from "@tollgate/application/customer/Customers"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import * as Effect from "effect/Effect"
import { operatorFor } from "../runtime/Actor.ts"
import type { Answer } from "../terminal/Output.ts"
import { answering } from "./AnsweringCommand.ts"
import { reason, reseller, user } from "./SharedOptions.ts"

const link = answering(
  "link",
  "Make a user a customer of a reseller, who may then give them keys and read what they have left.",
  { reseller, user, reason: Options.optional(reason) },
  (given) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("customers link", given.reason)
      const { email, id } = yield* Effect.flatMap(Resellers, (resellers) => resellers.named(given.reseller))
      const customer = yield* Effect.flatMap(Customers, (customers) => customers.link(id, given.user, operator))
      return {
        document: { user_id: customer.userId, email: customer.email, reseller_id: id, reseller_email: email },
        text: `${customer.email} (${customer.userId}) is a customer of ${email}.`
      } satisfies Answer
    })
)

export const customers = Command.make("customers").pipe(
  Command.withDescription("Customers: which users belong to which reseller."),
  Command.withSubcommands([link])
)
