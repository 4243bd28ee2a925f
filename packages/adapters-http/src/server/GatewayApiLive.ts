/**
 * Implements {@link GatewayApi}. To add a route group, declare the group in `GatewayApi.ts` and add its layer here.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { OperatorRequests } from "@tollgate/application/operator/OperatorSessions"
import { OpenTopUps } from "@tollgate/application/operator/OperatorTopUps"
import { ResellerRequests } from "@tollgate/application/reseller/ResellerAccess"
import * as Layer from "effect/Layer"
import * as Models from "../catalog/Models.ts"
import * as ConsoleFiles from "../console/ConsoleFiles.ts"
import * as Balances from "../customer/Balances.ts"
import * as Customers from "../customer/Customers.ts"
import * as Keys from "../customer/Keys.ts"
import * as OwnAccount from "../customer/OwnAccount.ts"
import * as Usage from "../customer/Usage.ts"
import * as CsvResponse from "../http/CsvResponse.ts"
import * as SmallBodies from "../http/SmallBodies.ts"
import * as ImagesRoutes from "../images/ImagesRoutes.ts"
import * as RelayRoutes from "../inference/RelayRoutes.ts"
import * as StoredResponsesRoutes from "../inference/responses/StoredResponsesRoutes.ts"
import * as Mints from "../mint/Mints.ts"
import * as DocumentationPage from "../openapi/DocumentationPage.ts"
import * as DocumentRoute from "../openapi/DocumentRoute.ts"
import * as OperatorAudit from "../operator/Audit.ts"
import * as OperatorAuditLog from "../operator/AuditLog.ts"
import * as OperatorBlacklist from "../operator/Blacklist.ts"
import * as OperatorCatalog from "../operator/Catalog.ts"
import * as OperatorCustomers from "../operator/Customers.ts"
import * as OperatorUsage from "../operator/CustomerUsage.ts"
import * as OperatorHolds from "../operator/Holds.ts"
import * as OperatorImages from "../operator/ImageReviews.ts"
import * as OperatorKeys from "../operator/Keys.ts"
import * as OperatorResellers from "../operator/Resellers.ts"
import * as OperatorService from "../operator/Service.ts"
import * as OperatorSession from "../operator/Session.ts"
import * as OperatorTopUps from "../operator/TopUps.ts"
import * as PageFrame from "../pages/PageFrame.ts"
import * as StartPage from "../pages/StartPage.ts"
import * as RankingsFeed from "../rankings/RankingsFeed.ts"
import * as RankingsPage from "../rankings/RankingsPage.ts"
import * as Account from "../reseller/Account.ts"
import * as Authentication from "../reseller/Authentication.ts"
import * as Exports from "../reseller/Exports.ts"
import * as PaymentWebhooks from "../topup/PaymentWebhooks.ts"
import * as QrPictures from "../topup/QrPictures.ts"
import * as TopUps from "../topup/TopUps.ts"
import * as WebhookDeliveries from "../webhook/Deliveries.ts"
import * as WebhookEndpoints from "../webhook/Endpoints.ts"
import * as ApiListener from "./ApiListener.ts"
import * as Fallbacks from "./Fallbacks.ts"
import { GatewayApi } from "./GatewayApi.ts"
import * as Operations from "./Operations.ts"

const reseller = Layer.mergeAll(
  Authentication.layer,
  Account.layer,
  TopUps.layer,
  Mints.layer,
  Customers.layer,
  Keys.layer,
  Balances.layer,
  Usage.layer,
  Exports.layer,
  WebhookEndpoints.layer,
  WebhookDeliveries.layer,
  QrPictures.layer,
  PaymentWebhooks.layer
).pipe(Layer.provide(ResellerRequests.layer))

const operator = Layer.mergeAll(
  OperatorSession.layer,
  OperatorResellers.layer,
  OperatorTopUps.layer,
  OperatorImages.layer,
  OperatorAudit.layer,
  OperatorAuditLog.layer,
  OperatorBlacklist.layer,
  OperatorCatalog.layer,
  OperatorCustomers.layer,
  OperatorHolds.layer,
  OperatorKeys.layer,
  OperatorService.layer,
  OperatorUsage.layer
).pipe(Layer.provide(OpenTopUps.layer), Layer.provide(OperatorRequests.layer))

const routes = Layer.mergeAll(
  RelayRoutes.layer,
  Layer.provide(Layer.merge(reseller, operator), SmallBodies.layer),
  ImagesRoutes.layer,
  Models.layer,
  OwnAccount.layer,
  RankingsFeed.layer,
  RankingsPage.layer,
  ConsoleFiles.layer,
  PageFrame.layer,
  StoredResponsesRoutes.layer,
  Operations.layer
).pipe(Layer.provide(CsvResponse.layer))

const documentation = Layer.merge(DocumentRoute.layer, DocumentationPage.layer)
const undeclaredPaths = [
  DocumentationPage.DOCUMENTATION_PATH,
  DocumentRoute.DOCUMENT_PATH,
  ConsoleFiles.CONSOLE_PATH,
  ...PageFrame.paths,
  ...RankingsPage.paths
]

export const layer = Layer.mergeAll(
  documentation,
  StartPage.layer,
  Fallbacks.layer(
    GatewayApi,
    undeclaredPaths.map((path) => ({ method: "GET", path })),
    [
      { method: "GET", path: `${ConsoleFiles.CONSOLE_PATH}/*` },
      { method: "GET", path: Models.UNESCAPED_PATH },
      ...StoredResponsesRoutes.routes
    ]
  )
).pipe(
  Layer.provideMerge(HttpApiBuilder.api(GatewayApi).pipe(Layer.provide(routes))),
  Layer.provideMerge(ApiListener.layerContext)
)
