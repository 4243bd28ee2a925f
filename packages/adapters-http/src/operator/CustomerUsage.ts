/**
 * Lists the settled usage of a customer for operators, with daily sums (docs/reference/operator.md#customers-and-keys).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { customerReader, readDailyUsage, readUsage, SettledUsage } from "@tollgate/application/customer/SettledUsage"
import { Users } from "@tollgate/application/customer/Users"
import { InferenceLedger } from "@tollgate/application/ledger/InferenceLedger"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import type { UsageFilterQuery, UsageQuery } from "@tollgate/domain/customer/Usage"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { afterSettlements } from "../customer/AfterSettlements.ts"
import { toDays, toPage, UsagePageBody } from "../customer/UsageBody.ts"
import { withOnly } from "../http/RouteServices.ts"
import { type ParametersOf, singleValues, text } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { cursorParameters, DailyUsageBody, ownUsageFilter } from "../openapi/ListDocs.ts"
import { documented, OperatorError } from "../openapi/OperatorDocs.ts"
import { forOperator, operatorServices } from "./OperatorCaller.ts"

const PATH = "/api/operator/customers/:customer/usage"
const customer = Schema.Struct({ customer: text("The customer's id or email.", "customer@example.com") })

const readItems = HttpApiEndpoint.get("listUsageOfCustomer", PATH)
  .setPath(customer)
  .setUrlParams(Schema.Struct({ ...cursorParameters, ...ownUsageFilter }))
  .addSuccess(UsagePageBody)
  .annotateContext(
    documented({ summary: "List settled usage of a customer", errors: ["ValidationFailed", "UserNotFound"] })
  )

const readDays = HttpApiEndpoint.get("getDailyUsageOfCustomer", `${PATH}/daily`)
  .setPath(customer)
  .setUrlParams(Schema.Struct(ownUsageFilter))
  .addSuccess(DailyUsageBody)
  .annotateContext(
    documented({
      summary: "Read the daily sums of the usage of a customer",
      description: "The range has at most 92 days. By default it has 31 days and ends today.",
      errors: ["ValidationFailed", "UserNotFound"]
    })
  )

export class OperatorUsageApi extends HttpApiGroup.make("operatorUsage")
  .add(readItems)
  .add(readDays)
  .addError(OperatorError)
  .annotateContext(
    OpenApi.annotations({ title: "Operator: usage", description: "The settled usage of a customer." })
  ) {}

type Own<Query> = ParametersOf<Omit<Query, "customer">>

const items = (named: string, query: Own<UsageQuery>) =>
  forOperator(() =>
    Effect.gen(function* () {
      const { id } = yield* (yield* Users).named(named)
      return toPage(yield* afterSettlements(readUsage(customerReader(id), yield* singleValues(query))))
    })
  )

const days = (named: string, query: Own<UsageFilterQuery>) =>
  forOperator(() =>
    Effect.gen(function* () {
      const { id } = yield* (yield* Users).named(named)
      return toDays(yield* afterSettlements(readDailyUsage(customerReader(id), yield* singleValues(query))))
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(OperatorUsageApi), "operatorUsage", (handlers) =>
  handlers
    .handleRaw("listUsageOfCustomer", ({ path, urlParams }) => items(path.customer, urlParams))
    .handleRaw("getDailyUsageOfCustomer", ({ path, urlParams }) => days(path.customer, urlParams))
).pipe(withOnly(...operatorServices, CursorSealer, InferenceLedger, SettledUsage, Users))
