/**
 * Every route of the public port in one declaration: the router and the OpenAPI document are built from it.
 *
 * The groups of the relayed protocols (chat, messages, responses) are declared only: the relay takes their requests
 * before the router does.
 */
import { ModelsApi } from "../catalog/Models.ts"
import { BalancesApi } from "../customer/Balances.ts"
import { CustomersApi } from "../customer/Customers.ts"
import { UsageApi } from "../customer/Usage.ts"
import { ImagesApi } from "../images/ImagesApi.ts"
import { ChatApi } from "../inference/chat/ChatApi.ts"
import { MessagesApi } from "../inference/messages/MessagesApi.ts"
import { ResponsesApi } from "../inference/responses/ResponsesApi.ts"
import { MintsApi } from "../mint/Mints.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { RankingsApi } from "../rankings/RankingsFeed.ts"
import { AccountApi } from "../reseller/Account.ts"
import { AuthenticationApi } from "../reseller/Authentication.ts"
import { PaymentWebhooksApi } from "../topup/PaymentWebhooks.ts"
import { QrPicturesApi } from "../topup/QrPictures.ts"
import { TopUpsApi } from "../topup/TopUps.ts"
import { OperationsApi } from "./Operations.ts"

export class GatewayApi extends gateway
  .add(ChatApi)
  .add(MessagesApi)
  .add(ResponsesApi)
  .add(ImagesApi)
  .add(ModelsApi)
  .add(RankingsApi)
  .add(AuthenticationApi)
  .add(AccountApi)
  .add(TopUpsApi)
  .add(QrPicturesApi)
  .add(PaymentWebhooksApi)
  .add(MintsApi)
  .add(CustomersApi)
  .add(BalancesApi)
  .add(UsageApi)
  .add(OperationsApi) {}
