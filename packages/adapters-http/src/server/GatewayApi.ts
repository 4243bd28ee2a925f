/**
 * Everything the public port serves, in one declaration: what is routed, and what the documentation says.
 *
 * The groups of relayed protocols are declared only; the relay takes their requests before any router sees them.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import { ModelsApi } from "../catalog/ModelsApi.ts"
import { BalancesApi } from "../customer/BalancesApi.ts"
import { CustomersApi } from "../customer/CustomersApi.ts"
import { UsageApi } from "../customer/UsageApi.ts"
import { ImagesApi } from "../images/ImagesApi.ts"
import { ChatApi } from "../inference/chat/ChatApi.ts"
import { MessagesApi } from "../inference/messages/MessagesApi.ts"
import { ResponsesApi } from "../inference/responses/ResponsesApi.ts"
import { MintApi } from "../mint/MintApi.ts"
import { withOwnErrorsOnly } from "../openapi/ErrorDocs.ts"
import { withSecuritySchemes } from "../openapi/SecurityDocs.ts"
import { RankingsApi } from "../rankings/RankingsApi.ts"
import { AccountApi } from "../reseller/AccountApi.ts"
import { ResellerAuthApi } from "../reseller/ResellerAuthApi.ts"
import { QrPictureApi } from "../topup/QrPictureApi.ts"
import { TopUpsApi } from "../topup/TopUpsApi.ts"
import { WebhooksApi } from "../topup/WebhooksApi.ts"
import { OperationsApi } from "./OperationsApi.ts"

export class GatewayApi extends HttpApi.make("gateway")
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
  .add(OperationsApi)
  .annotateContext(
    OpenApi.annotations({
      title: "Inference gateway",
      version: "1",
      description:
        "Drop-in replacement for the OpenAI and Anthropic interfaces: change the base address and the name of the " +
        "model. Resellers sign up, top up quota and hand out plans and keys under `/api/reseller`. Every response " +
        "carries its id in `x-request-id`.",
      transform: (specification) => withSecuritySchemes(withOwnErrorsOnly(specification))
    })
  ) {}
