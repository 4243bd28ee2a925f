/**
 * Every route of the public port in one declaration: the router and the OpenAPI document are built from it.
 *
 * The groups of the relayed protocols (chat, messages, responses) are declared only: the relay takes their requests
 * before the router does.
 */
import { ModelsApi } from "../catalog/ModelsApi.ts"
import { BalancesApi } from "../customer/BalancesApi.ts"
import { CustomersApi } from "../customer/CustomersApi.ts"
import { UsageApi } from "../customer/UsageApi.ts"
import { ImagesApi } from "../images/ImagesApi.ts"
import { ChatApi } from "../inference/chat/ChatApi.ts"
import { MessagesApi } from "../inference/messages/MessagesApi.ts"
import { ResponsesApi } from "../inference/responses/ResponsesApi.ts"
import { MintApi } from "../mint/MintApi.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { RankingsApi } from "../rankings/RankingsApi.ts"
import { AccountApi } from "../reseller/AccountApi.ts"
import { ResellerAuthApi } from "../reseller/ResellerAuthApi.ts"
import { QrPictureApi } from "../topup/QrPictureApi.ts"
import { TopUpsApi } from "../topup/TopUpsApi.ts"
import { WebhooksApi } from "../topup/WebhooksApi.ts"
import { OperationsApi } from "./OperationsApi.ts"

export class GatewayApi extends gateway
  .add(ChatApi)
  .add(MessagesApi)
  .add(ResponsesApi)
  .add(ImagesApi)
  .add(ModelsApi)
  .add(RankingsApi)
  .add(ResellerAuthApi)
  .add(AccountApi)
  .add(TopUpsApi)
  .add(QrPictureApi)
  .add(WebhooksApi)
  .add(MintApi)
  .add(CustomersApi)
  .add(BalancesApi)
  .add(UsageApi)
  .add(OperationsApi) {}
