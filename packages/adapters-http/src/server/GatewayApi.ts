/**
 * Declares the routes of the public port. The router and the OpenAPI document are built from this declaration.
 * `GatewayApiLive.ts` adds routes that this declaration does not contain, such as the pages, the OpenAPI document and
 * the routes for stored responses.
 *
 * The route groups of the text and embedding protocols are listed in `inference/RelayRoutes.ts`.
 */
import { ModelsApi } from "../catalog/Models.ts"
import { BalancesApi } from "../customer/Balances.ts"
import { CustomersApi } from "../customer/Customers.ts"
import { KeysApi } from "../customer/Keys.ts"
import { OwnAccountApi } from "../customer/OwnAccount.ts"
import { UsageApi } from "../customer/Usage.ts"
import { ImagesApi } from "../images/ImagesApi.ts"
import { relayGroups } from "../inference/RelayRoutes.ts"
import { MintsApi } from "../mint/Mints.ts"
import { OperatorAuditApi } from "../operator/Audit.ts"
import { OperatorAuditLogApi } from "../operator/AuditLog.ts"
import { OperatorBlacklistApi } from "../operator/Blacklist.ts"
import { OperatorCatalogApi } from "../operator/Catalog.ts"
import { OperatorCustomersApi } from "../operator/Customers.ts"
import { OperatorUsageApi } from "../operator/CustomerUsage.ts"
import { OperatorHoldsApi } from "../operator/Holds.ts"
import { OperatorImagesApi } from "../operator/ImageReviews.ts"
import { OperatorKeysApi } from "../operator/Keys.ts"
import { OperatorResellersApi } from "../operator/Resellers.ts"
import { OperatorServiceApi } from "../operator/Service.ts"
import { OperatorSessionApi } from "../operator/Session.ts"
import { OperatorTopUpsApi } from "../operator/TopUps.ts"
import { RankingsApi } from "../rankings/RankingsFeed.ts"
import { AccountApi } from "../reseller/Account.ts"
import { AuthenticationApi } from "../reseller/Authentication.ts"
import { ExportsApi } from "../reseller/Exports.ts"
import { PaymentWebhooksApi } from "../topup/PaymentWebhooks.ts"
import { QrPicturesApi } from "../topup/QrPictures.ts"
import { TopUpsApi } from "../topup/TopUps.ts"
import { WebhookDeliveriesApi } from "../webhook/Deliveries.ts"
import { WebhookEndpointsApi } from "../webhook/Endpoints.ts"
import { OperationsApi } from "./Operations.ts"

export class GatewayApi extends relayGroups
  .add(ImagesApi)
  .add(ModelsApi)
  .add(OwnAccountApi)
  .add(RankingsApi)
  .add(AuthenticationApi)
  .add(AccountApi)
  .add(TopUpsApi)
  .add(QrPicturesApi)
  .add(PaymentWebhooksApi)
  .add(MintsApi)
  .add(CustomersApi)
  .add(KeysApi)
  .add(BalancesApi)
  .add(UsageApi)
  .add(ExportsApi)
  .add(WebhookEndpointsApi)
  .add(WebhookDeliveriesApi)
  .add(OperatorSessionApi)
  .add(OperatorResellersApi)
  .add(OperatorTopUpsApi)
  .add(OperatorImagesApi)
  .add(OperatorAuditApi)
  .add(OperatorAuditLogApi)
  .add(OperatorBlacklistApi)
  .add(OperatorCatalogApi)
  .add(OperatorCustomersApi)
  .add(OperatorHoldsApi)
  .add(OperatorKeysApi)
  .add(OperatorServiceApi)
  .add(OperatorUsageApi)
  .add(OperationsApi) {}
