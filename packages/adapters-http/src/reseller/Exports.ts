/**
 * Sends the mints, the top-ups and the quota movements of a reseller as CSV (docs/reference/reseller.md#k5).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { MintHistory } from "@tollgate/application/mint/MintHistory"
import { exportMints, exportQuotaMovements, exportTopUps } from "@tollgate/application/reseller/ProgrammeExports"
import { QuotaMovements } from "@tollgate/application/reseller/QuotaMovements"
import { TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import type { DaysQuery } from "@tollgate/domain/validation/Days"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { csvForReseller, resellerServices } from "../auth/ResellerCaller.ts"
import { CsvResponses } from "../http/CsvResponse.ts"
import { withOnly } from "../http/RouteServices.ts"
import { type ParametersOf, singleValues } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { csvBody, dayParameters } from "../openapi/ListDocs.ts"
import { documented, ResellerError } from "../openapi/ResellerDocs.ts"

const downloadMints = HttpApiEndpoint.get("exportMints", "/api/reseller/mints.csv")
  .setUrlParams(Schema.Struct(dayParameters))
  .addSuccess(csvBody("The mints as CSV, newest first."))
  .annotateContext(documented({ summary: "Download the mints as CSV", errors: ["ValidationFailed"] }))

const downloadTopUps = HttpApiEndpoint.get("exportTopUps", "/api/reseller/topups.csv")
  .setUrlParams(Schema.Struct(dayParameters))
  .addSuccess(csvBody("The top-up orders as CSV, newest first. The range applies to the creation of an order."))
  .annotateContext(documented({ summary: "Download the top-up orders as CSV", errors: ["ValidationFailed"] }))

const downloadMovements = HttpApiEndpoint.get("exportQuotaMovements", "/api/reseller/quota.csv")
  .setUrlParams(Schema.Struct(dayParameters))
  .addSuccess(csvBody("The movements of the quota as CSV, newest first."))
  .annotateContext(
    documented({
      summary: "Download the movements of the quota as CSV",
      description: "A movement is a credited top-up, a mint, or an adjustment by the operator.",
      errors: ["ValidationFailed"]
    })
  )

export class ExportsApi extends HttpApiGroup.make("resellerExports")
  .add(downloadMints)
  .add(downloadTopUps)
  .add(downloadMovements)
  .addError(ResellerError)
  .annotateContext(
    OpenApi.annotations({
      title: "Reseller: CSV files",
      description: "Complete lists as CSV files of any length."
    })
  ) {}

const mints = (query: ParametersOf<DaysQuery>) =>
  csvForReseller("mints.csv", ({ id }) => Effect.flatMap(singleValues(query), (days) => exportMints(id, days)))

const topUps = (query: ParametersOf<DaysQuery>) =>
  csvForReseller("topups.csv", ({ id }) => Effect.flatMap(singleValues(query), (days) => exportTopUps(id, days)))

const movements = (query: ParametersOf<DaysQuery>) =>
  csvForReseller("quota.csv", ({ id }) => Effect.flatMap(singleValues(query), (days) => exportQuotaMovements(id, days)))

export const layer = HttpApiBuilder.group(gateway.add(ExportsApi), "resellerExports", (handlers) =>
  handlers
    .handleRaw("exportMints", ({ urlParams }) => mints(urlParams))
    .handleRaw("exportTopUps", ({ urlParams }) => topUps(urlParams))
    .handleRaw("exportQuotaMovements", ({ urlParams }) => movements(urlParams))
).pipe(withOnly(...resellerServices, CsvResponses, MintHistory, QuotaMovements, TopUpOrders))
