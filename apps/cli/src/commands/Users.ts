/**
 * Defines `tollgate users`, which creates and shows users. A user owns balances and API keys.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Users } from "@tollgate/application/customer/Users"
import type { TokenPlan } from "@tollgate/domain/customer/Customer"
import type { User } from "@tollgate/domain/customer/User"
import * as Effect from "effect/Effect"
import type { Report } from "../terminal/Output.ts"
import { count, timestamp } from "../terminal/Output.ts"
import { namedValues, table } from "../terminal/Table.ts"
import { paygDocument, paygText } from "./Amounts.ts"
import { reportCommand } from "./ReportCommand.ts"
import { email, operatorFor, reason } from "./SharedOptions.ts"

const create = reportCommand(
  "create",
  "Create a user.",
  { email, reason: Options.optional(reason) },
  ({ email, reason }) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("users create", reason)
      const user = yield* Effect.flatMap(Users, (users) => users.create(email, operator))
      return {
        document: userDocument(user),
        text: [
          `Created the user ${user.email} (${user.id}).`,
          "Next, create a key and add credit:",
          `  tollgate keys create --user ${user.email} --name NAME`,
          `  tollgate payg credit --user ${user.email} --usd-micro N --operation-id ID --reason TEXT`
        ].join("\n")
      } satisfies Report
    })
)

const show = reportCommand(
  "show",
  "Show a user with the pay-as-you-go balance and the token plans.",
  { email },
  ({ email }) =>
    Effect.gen(function* () {
      const users = yield* Users
      const user = yield* users.find(email)
      const { paygPico, plans } = yield* users.balances(user)
      return {
        document: { ...userDocument(user), payg: paygDocument(paygPico), token_plans: plans.map(planDocument) },
        text: [
          namedValues([
            ["User", user.email],
            ["Id", user.id],
            ["Status", user.status],
            ["Created", timestamp(user.createdAt)],
            ["Pay-as-you-go", paygText(paygPico)]
          ]),
          plans.length === 0 ? "No token plans." : plansTable(plans)
        ].join("\n\n")
      } satisfies Report
    })
)

export const users = Command.make("users").pipe(
  Command.withDescription("Create and show users. A user owns balances and API keys."),
  Command.withSubcommands([create, show])
)

const userDocument = (user: User) => ({
  user_id: user.id,
  email: user.email,
  status: user.status,
  created_at: timestamp(user.createdAt)
})

const planDocument = (plan: TokenPlan) => ({
  model: plan.model,
  purchased_tokens: count(plan.purchased),
  used_tokens: count(plan.used),
  remaining_tokens: count(plan.remaining),
  status: plan.status
})

const plansTable = (plans: ReadonlyArray<TokenPlan>): string =>
  table(
    [
      { heading: "token plan", cell: (plan) => plan.model },
      { heading: "purchased", cell: (plan) => plan.purchased.toString(), align: "right" },
      { heading: "used", cell: (plan) => plan.used.toString(), align: "right" },
      { heading: "remaining", cell: (plan) => plan.remaining.toString(), align: "right" },
      { heading: "status", cell: (plan) => plan.status }
    ],
    plans
  )
