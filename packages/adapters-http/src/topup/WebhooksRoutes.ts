/**
 * Takes the reports of payment providers, byte for byte as they signed them.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { handleWebhook } from "@tollgate/application/topup/HandleWebhook"
import * as Effect from "effect/Effect"
import { resellerResponse } from "../http/ApiResponse.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { SmallBodies } from "../reseller/SmallBodies.ts"
import { WebhooksApi } from "./WebhooksApi.ts"

const report = (provider: string) =>
  resellerResponse(
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const body = yield* (yield* SmallBodies).read(NodeHttpServerRequest.toIncomingMessage(request))
      return yield* handleWebhook(provider, request.headers, body)
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(WebhooksApi), "webhooks", (handlers) =>
  handlers.handleRaw("paymentWebhook", ({ path: { provider } }) => report(provider))
)
