/**
 * Lists, shows and creates customers for operators, credits them, and links them to resellers
 * (docs/reference/operator.md#customers-and-keys). The tables call a customer `user`.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Customers } from "@tollgate/application/customer/Customers"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { type ListedUser, Users } from "@tollgate/application/customer/Users"
import { InferenceLedger } from "@tollgate/application/ledger/InferenceLedger"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import { listUsers } from "@tollgate/application/operator/OperatorLists"
import { operatorOf } from "@tollgate/application/operator/OperatorSessions"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import type { User } from "@tollgate/domain/customer/User"
import { CreditRequest, CustomerRequest } from "@tollgate/domain/operator/OperatorRequests"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { afterSettlements } from "../customer/AfterSettlements.ts"
import { withOnly } from "../http/RouteServices.ts"
import { SmallBodies } from "../http/SmallBodies.ts"
import {
  digits,
  instant,
  integer,
  type MembersOf,
  parameter,
  text,
  timestamp,
  unknownMembers,
  uuid,
  wholeNumber
} from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { cursorParameters, pageOf } from "../openapi/ListDocs.ts"
import { bodyErrors, documented, OperatorError } from "../openapi/OperatorDocs.ts"
import { jsonBody } from "../reseller/JsonBody.ts"
import { forOperator, operatorServices, pageForOperator } from "./OperatorCaller.ts"
import { amountField, operationIdField, optionalReason, PaygBody, requiredReason, toPayg } from "./RequestFields.ts"

const example = {
  user_id: "019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11",
  email: "customer@example.com",
  status: "active" as const,
  created_at: "2026-11-20T09:30:00.000Z"
}
const RESELLER = "019a9f0e-1c52-7d1a-9a41-6f1f0d7b2c11"

const userId = uuid("The customer's id.", example.user_id)

const UserBody = Schema.Struct({
  user_id: userId,
  email: text("The customer's email.", example.email),
  status: Schema.Literal("active", "blocked").annotations({ description: "The status of the customer." }),
  created_at: timestamp("The time at which the customer was created.", example.created_at)
}).annotations({ identifier: "OperatorCustomer", examples: [example] })

const ListedUserBody = Schema.Struct({
  ...UserBody.fields,
  payg: PaygBody,
  active_keys: integer("The number of keys that are not revoked.", 2),
  resellers: Schema.Array(Schema.String).annotations({
    description: "The emails of the resellers to which the customer is linked."
  })
}).annotations({ identifier: "ListedOperatorCustomer" })

const UserPage = pageOf(ListedUserBody, {
  identifier: "OperatorCustomerPage",
  description: "The customers, newest first."
})

const ShownUser = Schema.Struct({
  ...UserBody.fields,
  payg: PaygBody,
  token_plans: Schema.Array(
    Schema.Struct({
      model: text("The public name of the model.", "demo-chat"),
      purchased_tokens: integer("The number of tokens added to the plan in total.", 2_000_000),
      used_tokens: integer("The number of the plan's tokens that settled requests have used.", 150_000),
      remaining_tokens: integer("The purchased tokens minus the used tokens.", 1_850_000),
      status: Schema.Literal("active", "exhausted").annotations({
        description: "`active` while tokens remain, else `exhausted`."
      })
    }).annotations({ identifier: "OperatorTokenPlan" })
  ).annotations({ description: "The token plans; at most one for each model." })
}).annotations({ identifier: "OperatorCustomerWithBalances" })

const CustomerBody = Schema.Struct(
  { email: text("The customer's email.", example.email), reason: optionalReason } satisfies MembersOf<
    typeof CustomerRequest
  >,
  unknownMembers
).annotations({ identifier: "OperatorCustomerRequest", examples: [{ email: example.email }] })

const credit = { amount_usd_micro: "5000000", operation_id: "goodwill of ticket 9", reason: "goodwill" }

const CreditBody = Schema.Struct(
  { amount_usd_micro: amountField, operation_id: operationIdField, reason: requiredReason } satisfies MembersOf<
    typeof CreditRequest
  >,
  unknownMembers
).annotations({ identifier: "PaygCredit", examples: [credit] })

const CreditedBody = Schema.Struct({
  user_id: userId,
  email: text("The customer's email.", example.email),
  operation_id: text("The operation id of the request.", credit.operation_id),
  amount_usd_micro: digits("The credited amount in micro-USD.", credit.amount_usd_micro),
  already_applied: Schema.Boolean.annotations({
    description:
      "True if an earlier request with the operation id booked the credit, so that this request changed nothing."
  }),
  payg: PaygBody
}).annotations({ identifier: "CreditedPayg" })

const LinkedBody = Schema.Struct({
  user_id: userId,
  email: text("The customer's email.", example.email),
  reseller_id: uuid("The reseller's id.", RESELLER),
  reseller_email: text("The reseller's email.", "owner@tokotoken.example")
}).annotations({ identifier: "LinkedCustomer" })

const PATH = "/api/operator/customers"
const customer = Schema.Struct({ customer: text("The customer's id or email.", example.user_id) })

const readUsers = HttpApiEndpoint.get("listCustomersForOperator", PATH)
  .setUrlParams(
    Schema.Struct({
      search: parameter({
        type: "string",
        minLength: 1,
        description: "Returns only customers with this text in their email; at most 254 UTF-16 code units."
      }),
      status: parameter({
        type: "string",
        enum: ["active", "blocked"],
        description: "Returns only customers with this status."
      }),
      ...cursorParameters
    })
  )
  .addSuccess(UserPage)
  .annotateContext(documented({ summary: "List customers", errors: ["ValidationFailed"] }))

const readUser = HttpApiEndpoint.get("showCustomer", `${PATH}/:customer`)
  .setPath(customer)
  .addSuccess(ShownUser)
  .annotateContext(documented({ summary: "Show a customer with its balances", errors: ["UserNotFound"] }))

const createUser = HttpApiEndpoint.post("createCustomer", PATH)
  .setPayload(CustomerBody)
  .addSuccess(UserBody, { status: 201 })
  .annotateContext(documented({ summary: "Create a customer", errors: [...bodyErrors, "UserExists"] }))

const creditUser = HttpApiEndpoint.post("creditCustomer", `${PATH}/:customer/credit`)
  .setPath(customer)
  .setPayload(CreditBody)
  .addSuccess(CreditedBody)
  .annotateContext(
    documented({
      summary: "Credit a pay-as-you-go balance, once per operation id",
      errors: [...bodyErrors, "UserNotFound", "CreditConflict", "TotalCreditExceeded"]
    })
  )

const linkUser = HttpApiEndpoint.post("linkCustomer", "/api/operator/resellers/:reseller/customers")
  .setPath(Schema.Struct({ reseller: text("The reseller's id or email.", RESELLER) }))
  .setPayload(CustomerBody)
  .addSuccess(LinkedBody)
  .annotateContext(
    documented({
      summary: "Make a user a customer of a reseller",
      errors: [...bodyErrors, "ResellerNotFound", "UserNotFound"]
    })
  )

export class OperatorCustomersApi extends HttpApiGroup.make("operatorCustomers")
  .add(readUsers)
  .add(readUser)
  .add(createUser)
  .add(creditUser)
  .add(linkUser)
  .addError(OperatorError)
  .annotateContext(
    OpenApi.annotations({ title: "Operator: customers", description: "All customers, with their balances." })
  ) {}

const toBody = (user: User): typeof UserBody.Type => ({
  user_id: user.id,
  email: user.email,
  status: user.status,
  created_at: instant(user.createdAt)
})

const toListed = (user: ListedUser): typeof ListedUserBody.Type => ({
  ...toBody(user),
  payg: toPayg(user.paygPico),
  active_keys: user.activeKeys,
  resellers: user.resellers
})

const shown = (named: string) =>
  forOperator(() =>
    Effect.gen(function* () {
      const users = yield* Users
      const user = yield* users.named(named)
      const { paygPico, plans } = yield* afterSettlements(users.balances(user))
      const body: typeof ShownUser.Type = {
        ...toBody(user),
        payg: toPayg(paygPico),
        token_plans: plans.map(({ model, purchased, used, remaining, status }) => ({
          model,
          purchased_tokens: wholeNumber(purchased),
          used_tokens: wholeNumber(used),
          remaining_tokens: wholeNumber(remaining),
          status
        }))
      }
      return body
    })
  )

const created = forOperator(
  (session) =>
    Effect.gen(function* () {
      const { email, reason } = yield* jsonBody(CustomerRequest)
      return toBody(yield* (yield* Users).create(email, operatorOf(session, "users create", reason)))
    }),
  201
)

const credited = (named: string) =>
  forOperator((session) =>
    Effect.gen(function* () {
      const { amount, operationId, reason } = yield* jsonBody(CreditRequest)
      const { email } = yield* (yield* Users).named(named)
      const operator = operatorOf(session, "payg credit", reason)
      const result = yield* (yield* PaygAccounts).credit({ email, amount, operationId, operator })
      const body: typeof CreditedBody.Type = {
        user_id: result.userId,
        email,
        operation_id: operationId,
        amount_usd_micro: result.amountUsdMicro.toString(),
        already_applied: result.alreadyApplied,
        payg: toPayg(result.balancePico)
      }
      return body
    })
  )

const linked = (named: string) =>
  forOperator((session) =>
    Effect.gen(function* () {
      const request = yield* jsonBody(CustomerRequest)
      const reseller = yield* (yield* Resellers).named(named)
      const operator = operatorOf(session, "customers link", request.reason)
      const { userId, email } = yield* (yield* Customers).link(reseller.id, request.email, operator)
      const body: typeof LinkedBody.Type = {
        user_id: userId,
        email,
        reseller_id: reseller.id,
        reseller_email: reseller.email
      }
      return body
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(OperatorCustomersApi), "operatorCustomers", (handlers) =>
  handlers
    .handleRaw("listCustomersForOperator", ({ urlParams }) => pageForOperator(urlParams, listUsers, toListed))
    .handleRaw("showCustomer", ({ path }) => shown(path.customer))
    .handleRaw("createCustomer", () => created)
    .handleRaw("creditCustomer", ({ path }) => credited(path.customer))
    .handleRaw("linkCustomer", ({ path }) => linked(path.reseller))
).pipe(
  withOnly(...operatorServices, CursorSealer, Customers, InferenceLedger, PaygAccounts, Resellers, SmallBodies, Users)
)
