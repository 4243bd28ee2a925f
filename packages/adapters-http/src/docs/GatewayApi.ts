/**
 * Everything the public port serves, in one declaration: what is routed, and what the documentation says.
 *
 * The groups of relayed protocols are declared only; the relay takes their requests before any router sees them.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import { ImagesApi } from "../images/ImagesApi.ts"
import { ModelsApi } from "../models/ModelsApi.ts"
import { RankingsApi } from "../rankings/RankingsApi.ts"
import { AccountApi } from "../reseller/AccountApi.ts"
import { BalancesApi } from "../reseller/BalancesApi.ts"
import { CustomersApi } from "../reseller/CustomersApi.ts"
import { MintApi } from "../reseller/MintApi.ts"
import { QrPictureApi } from "../reseller/QrPictureApi.ts"
import { ResellerAuthApi } from "../reseller/ResellerAuthApi.ts"
import { TopUpsApi } from "../reseller/TopUpsApi.ts"
import { UsageApi } from "../reseller/UsageApi.ts"
import { WebhooksApi } from "../reseller/WebhooksApi.ts"
import { OperationsApi } from "../server/OperationsApi.ts"
import { ChatApi } from "./ChatApi.ts"
import { withOwnErrorsOnly } from "./ErrorDocs.ts"
import { MessagesApi } from "./MessagesApi.ts"
import { ResponsesApi } from "./ResponsesApi.ts"
import { withSecuritySchemes } from "./SecurityDocs.ts"

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
