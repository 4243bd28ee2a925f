/**
 * Defines `tollgate users`, which creates, lists and shows users. A user owns balances and API keys.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { type ListedUser, Users } from "@tollgate/application/customer/Users"
import type { TokenPlan } from "@tollgate/domain/customer/Customer"
import type { User } from "@tollgate/domain/customer/User"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Report } from "../terminal/Output.ts"
import { count, timestamp } from "../terminal/Output.ts"
import { namedValues, table } from "../terminal/Table.ts"
import { paygDocument, paygText } from "./Amounts.ts"
import { reportCommand } from "./ReportCommand.ts"
import { email, limit, oneOf, operatorFor, option, reason } from "./SharedOptions.ts"

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

const status = oneOf("status", ["active", "blocked"], "List only users with this status.")

const Part = Schema.Trim.pipe(
  Schema.filter((text) => (text !== "" && text.length <= 254) || "a part of an email address")
)
const search = option("search", "TEXT", Part, "List only users with this text in their email address.")

const list = reportCommand(
  "list",
  "List users, newest first, with their pay-as-you-go balance.",
  { status: Options.optional(status), search: Options.optional(search), limit },
  ({ limit, search, status }) =>
    Effect.gen(function* () {
      const selection = { limit, search: Option.getOrUndefined(search), status: Option.getOrUndefined(status) }
      const found = yield* Effect.flatMap(Users, (users) => users.list(selection))
      return {
        document: found.map(listedDocument),
        text: found.length === 0 ? "No users." : usersTable(found)
      } satisfies Report
    })
)

export const users = Command.make("users").pipe(
  Command.withDescription("Create, list and show users. A user owns balances and API keys."),
  Command.withSubcommands([create, list, show])
)

const userDocument = (user: User) => ({
  user_id: user.id,
  email: user.email,
  status: user.status,
  created_at: timestamp(user.createdAt)
})

const listedDocument = (user: ListedUser) => ({
  ...userDocument(user),
  payg: paygDocument(user.paygPico),
  active_keys: user.activeKeys,
  resellers: [...user.resellers]
})

const usersTable = (users: ReadonlyArray<ListedUser>): string =>
  table(
    [
      { heading: "created", cell: (user) => timestamp(user.createdAt) },
      { heading: "email", cell: (user) => user.email },
      { heading: "status", cell: (user) => user.status },
      { heading: "keys", cell: (user) => user.activeKeys.toString(), align: "right" },
      { heading: "payg", cell: (user) => paygText(user.paygPico), align: "right" },
      { heading: "resellers", cell: (user) => user.resellers.join(", ") },
      { heading: "id", cell: (user) => user.id }
    ],
    users
  )

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
