/**
 * Takes the reports of payment providers, byte for byte as they signed them.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { handleWebhook } from "@tollgate/application/topup/HandleWebhook"
import * as Effect from "effect/Effect"
import { answered } from "../reseller/ResellerAnswer.ts"
import { SmallBodies } from "../reseller/SmallBodies.ts"
import { GatewayApi } from "../server/GatewayApi.ts"

const report = (provider: string) =>
  answered(
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const body = yield* (yield* SmallBodies).read(NodeHttpServerRequest.toIncomingMessage(request))
      return yield* handleWebhook(provider, request.headers, body)
    })
  )

export const layer = HttpApiBuilder.group(GatewayApi, "webhooks", (handlers) =>
  handlers.handleRaw("paymentWebhook", ({ path: { provider } }) => report(provider))
)
