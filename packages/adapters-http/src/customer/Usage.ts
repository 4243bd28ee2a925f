/**
 * Lists the settled usage of a reseller's customers, with daily sums and as CSV
 * (docs/reference/balances-and-usage.md#bal-5).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as useCases from "@tollgate/application/customer/SettledUsage"
import { resellerReader, SettledUsage } from "@tollgate/application/customer/SettledUsage"
import { exportUsage } from "@tollgate/application/customer/UsageExport"
import { InferenceLedger } from "@tollgate/application/ledger/InferenceLedger"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import type { UsageFilterQuery, UsageQuery } from "@tollgate/domain/customer/Usage"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { csvForReseller, forReseller, resellerServices } from "../auth/ResellerCaller.ts"
import { CsvResponses } from "../http/CsvResponse.ts"
import { withOnly } from "../http/RouteServices.ts"
import { type ParametersOf, singleValues } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { csvBody, cursorParameters, DailyUsageBody, usageFilter } from "../openapi/ListDocs.ts"
import { documented, ResellerError } from "../openapi/ResellerDocs.ts"
import { afterSettlements } from "./AfterSettlements.ts"
import { toDays, toPage, UsagePageBody } from "./UsageBody.ts"

const readUsage = HttpApiEndpoint.get("listCustomerUsage", "/api/reseller/usage")
  .setUrlParams(Schema.Struct({ ...cursorParameters, ...usageFilter }))
  .addSuccess(UsagePageBody)
  .annotateContext(
    documented({
      summary: "List settled usage of the reseller's customers",
      description: "Paging by cursor neither skips nor repeats an item, even if usage is settled between two pages.",
      errors: ["ValidationFailed"]
    })
  )

const readDailyUsage = HttpApiEndpoint.get("getDailyCustomerUsage", "/api/reseller/usage/daily")
  .setUrlParams(Schema.Struct(usageFilter))
  .addSuccess(DailyUsageBody)
  .annotateContext(
    documented({
      summary: "Read the daily sums of the usage of the reseller's customers",
      description: "The range has at most 92 days. By default it has 31 days and ends today.",
      errors: ["ValidationFailed"]
    })
  )

const downloadUsage = HttpApiEndpoint.get("exportCustomerUsage", "/api/reseller/usage.csv")
  .setUrlParams(Schema.Struct(usageFilter))
  .addSuccess(csvBody("The usage items as CSV, newest first."))
  .annotateContext(
    documented({
      summary: "Download settled usage of the reseller's customers as CSV",
      errors: ["ValidationFailed"]
    })
  )

export class UsageApi extends HttpApiGroup.make("usage")
  .add(readUsage)
  .add(readDailyUsage)
  .add(downloadUsage)
  .addError(ResellerError)
  .annotateContext(
    OpenApi.annotations({
      title: "Reseller: usage",
      description: "The settled usage of the reseller's customers."
    })
  ) {}

const usagePage = (query: ParametersOf<UsageQuery>) =>
  forReseller(({ id }) =>
    Effect.gen(function* () {
      return toPage(yield* afterSettlements(useCases.readUsage(resellerReader(id), yield* singleValues(query))))
    })
  )

const dailyUsage = (query: ParametersOf<UsageFilterQuery>) =>
  forReseller(({ id }) =>
    Effect.gen(function* () {
      return toDays(yield* afterSettlements(useCases.readDailyUsage(resellerReader(id), yield* singleValues(query))))
    })
  )

const usageCsv = (query: ParametersOf<UsageFilterQuery>) =>
  csvForReseller("usage.csv", ({ id }) =>
    Effect.flatMap(singleValues(query), (filter) => afterSettlements(exportUsage(resellerReader(id), filter)))
  )

export const layer = HttpApiBuilder.group(gateway.add(UsageApi), "usage", (handlers) =>
  handlers
    .handleRaw("listCustomerUsage", ({ urlParams }) => usagePage(urlParams))
    .handleRaw("getDailyCustomerUsage", ({ urlParams }) => dailyUsage(urlParams))
    .handleRaw("exportCustomerUsage", ({ urlParams }) => usageCsv(urlParams))
).pipe(withOnly(...resellerServices, CsvResponses, CursorSealer, InferenceLedger, SettledUsage))
