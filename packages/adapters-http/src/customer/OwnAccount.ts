/**
 * Reads the limits of the API key, and the balances and the settled usage of the customer that owns it
 * (docs/reference/balances-and-usage.md#k9). The errors have the error format of the inference routes.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Balances } from "@tollgate/application/customer/Balances"
import { KeyLimitStore } from "@tollgate/application/customer/KeyLimits"
import { customerReader, readDailyUsage, readUsage, SettledUsage } from "@tollgate/application/customer/SettledUsage"
import { exportUsage } from "@tollgate/application/customer/UsageExport"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import { InferenceLedger } from "@tollgate/application/ledger/InferenceLedger"
import { CurrentParty } from "@tollgate/application/operations/CurrentParty"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import type { ApiKeyId, Principal } from "@tollgate/domain/customer/ApiKey"
import type { UsageFilterQuery, UsageQuery } from "@tollgate/domain/customer/Usage"
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import { ValidationFailed } from "@tollgate/domain/validation/Validation"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { caller } from "../auth/PresentedKey.ts"
import { inferenceResponse, orInferenceError } from "../http/ApiResponse.ts"
import { CsvResponses } from "../http/CsvResponse.ts"
import { withOnly } from "../http/RouteServices.ts"
import { type ParametersOf, singleValues } from "../openapi/Fields.ts"
import { gateway, requiresApiKey } from "../openapi/GatewayDocument.ts"
import { refusal } from "../openapi/InferenceDocs.ts"
import { csvBody, cursorParameters, DailyUsageBody, ownUsageFilter } from "../openapi/ListDocs.ts"
import { afterSettlements } from "./AfterSettlements.ts"
import { exampleKeyBalances, KeyBalancesBody, toKeyBalances } from "./Balances.ts"
import { KeyLimitsBody, LimitUsageBody, limitsBody, limitUsageBody } from "./KeyLimitsBody.ts"
import { OwnUsagePageBody, toDays, toOwnPage } from "./UsageBody.ts"

const described = (summary: string, description?: string) =>
  OpenApi.annotations({ summary, ...(description === undefined ? {} : { description }), override: requiresApiKey })

const OwnBalanceBody = Schema.Struct({
  ...KeyBalancesBody.fields,
  limits: Schema.optional(KeyLimitsBody),
  limit_usage: Schema.optional(Schema.NullOr(LimitUsageBody))
}).annotations({ identifier: "OwnBalance", examples: [exampleKeyBalances] })

const readOwnBalance = HttpApiEndpoint.get("getBalance", "/v1/balance")
  .addSuccess(OwnBalanceBody)
  .addError(refusal(401, "invalid_api_key"))
  .addError(refusal(503, "overloaded"))
  .annotateContext(described("Read the balances of the customer that owns the API key"))

const readOwnUsage = HttpApiEndpoint.get("listUsage", "/v1/usage")
  .setUrlParams(Schema.Struct({ ...cursorParameters, ...ownUsageFilter }))
  .addSuccess(OwnUsagePageBody)
  .addError(refusal(400, "invalid_request"))
  .addError(refusal(401, "invalid_api_key"))
  .addError(refusal(503, "overloaded"))
  .annotateContext(
    described(
      "List the settled usage of the customer that owns the API key",
      "The list contains the requests with all keys of the customer."
    )
  )

const readOwnDailyUsage = HttpApiEndpoint.get("getDailyUsage", "/v1/usage/daily")
  .setUrlParams(Schema.Struct(ownUsageFilter))
  .addSuccess(DailyUsageBody)
  .addError(refusal(400, "invalid_request"))
  .addError(refusal(401, "invalid_api_key"))
  .addError(refusal(503, "overloaded"))
  .annotateContext(
    described(
      "Read the daily sums of the customer's usage",
      "The range has at most 92 days. By default it has 31 days and ends today."
    )
  )

const downloadOwnUsage = HttpApiEndpoint.get("exportUsage", "/v1/usage.csv")
  .setUrlParams(Schema.Struct(ownUsageFilter))
  .addSuccess(csvBody("The usage items as CSV, newest first."))
  .addError(refusal(400, "invalid_request"))
  .addError(refusal(401, "invalid_api_key"))
  .addError(refusal(503, "overloaded"))
  .annotateContext(described("Download the settled usage of the customer as CSV"))

export class OwnAccountApi extends HttpApiGroup.make("account")
  .add(readOwnBalance)
  .add(readOwnUsage)
  .add(readOwnDailyUsage)
  .add(downloadOwnUsage)
  .annotateContext(
    OpenApi.annotations({
      title: "Balance and usage",
      description: "The balances and the settled usage of the customer that owns the API key."
    })
  ) {}

/** Converts an invalid query to the error of the inference routes, which names at most one parameter. */
const asInvalidRequest = <A, E, R>(read: Effect.Effect<A, E | ValidationFailed, R>) =>
  Effect.catchIf(read, Schema.is(ValidationFailed), ({ details: [first] }) => {
    const { path, message } = first ?? { path: "", message: "the query is malformed" }
    return new InvalidRequest({ message: `${path}: ${message}.`, param: path === "" ? null : path })
  })

/** Authenticates the customer, and runs `read` within the customer's share of the database connections. */
const asCustomer = <A, E, R>(read: (customer: Principal) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(caller, (customer) => Effect.provideService(read(customer), CurrentParty, customer.userId))

const ownBalance = inferenceResponse(
  asCustomer(({ keyId, limits, userId }) =>
    Effect.gen(function* () {
      const statement = yield* afterSettlements((yield* Balances).own(userId))
      const body: typeof OwnBalanceBody.Type = toKeyBalances({ keyId, ...statement })
      return limits === undefined ? body : { ...body, ...(yield* ownLimits(keyId)) }
    })
  )
)

const ownLimits = (keyId: ApiKeyId) =>
  Effect.gen(function* () {
    const { key, counts } = yield* Effect.orDie((yield* KeyLimitStore).read(keyId))
    const limits = limitsBody(key.limits)
    return limits === null ? {} : { limits, limit_usage: limitUsageBody(key.limits, counts) }
  })

const ownUsage = (query: ParametersOf<UsageQuery>) =>
  inferenceResponse(
    asCustomer(({ userId }) =>
      Effect.gen(function* () {
        return toOwnPage(yield* afterSettlements(readUsage(customerReader(userId), yield* singleValues(query))))
      })
    ).pipe(asInvalidRequest)
  )

const ownDailyUsage = (query: ParametersOf<UsageFilterQuery>) =>
  inferenceResponse(
    asCustomer(({ userId }) =>
      Effect.gen(function* () {
        return toDays(yield* afterSettlements(readDailyUsage(customerReader(userId), yield* singleValues(query))))
      })
    ).pipe(asInvalidRequest)
  )

const ownUsageCsv = (query: ParametersOf<UsageFilterQuery>) =>
  orInferenceError(
    Effect.gen(function* () {
      const { userId } = yield* caller
      const csv = Effect.flatMap(singleValues(query), (filter) =>
        afterSettlements(exportUsage(customerReader(userId), filter))
      )
      return yield* (yield* CsvResponses).send(userId, "usage.csv", asInvalidRequest(csv))
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(OwnAccountApi), "account", (handlers) =>
  handlers
    .handleRaw("getBalance", () => ownBalance)
    .handleRaw("listUsage", ({ urlParams }) => ownUsage(urlParams))
    .handleRaw("getDailyUsage", ({ urlParams }) => ownDailyUsage(urlParams))
    .handleRaw("exportUsage", ({ urlParams }) => ownUsageCsv(urlParams))
).pipe(
  withOnly(ApiKeyAuthenticator, Balances, CsvResponses, CursorSealer, InferenceLedger, KeyLimitStore, SettledUsage)
)
