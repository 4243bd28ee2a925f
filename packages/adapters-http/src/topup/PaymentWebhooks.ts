/**
 * Receives the webhooks of payment providers (docs/reference/reseller.md#d9). This file does not parse the body,
 * because each provider's adapter defines what its signature covers.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as OpenApi from "@effect/platform/OpenApi"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { handleWebhook } from "@tollgate/application/topup/HandleWebhook"
import { OrderPayments } from "@tollgate/application/topup/OrderPayments"
import { PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import { TopUpCounts } from "@tollgate/application/topup/TopUpCounts"
import { TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { resellerResponse } from "../http/ApiResponse.ts"
import { withOnly } from "../http/RouteServices.ts"
import { SmallBodies } from "../http/SmallBodies.ts"
import { text } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { documented, ResellerError } from "../openapi/ResellerDocs.ts"

const Notification = Schema.Unknown.annotations({
  jsonSchema: {
    type: "object",
    description:
      "The notification in the format of the payment provider. Its signature is in the notification or in a header, as " +
      "the payment provider defines."
  }
})

const Acknowledgement = Schema.Unknown.annotations({
  jsonSchema: {
    type: "object",
    description: "The response that the payment provider expects.",
    examples: [{ success: true }]
  }
})

const paymentWebhook = HttpApiEndpoint.post("receivePaymentWebhook", "/webhooks/payments/:provider")
  .setPath(Schema.Struct({ provider: text("The name of the payment provider.", "midtrans") }))
  .setPayload(Notification)
  .addSuccess(Acknowledgement)
  .annotateContext(
    documented({
      summary: "Receive a payment notification (for payment providers)",
      description:
        "After a notification, this service requests the payment status from the payment provider. Notifications about " +
        "unknown orders are acknowledged like all others. The response is 503 if the payment status could not be read " +
        "and no later refresh of the order is scheduled, so that the payment provider repeats the notification.",
      public: true,
      errors: ["BadSignature", "NotFound", "RequestTooLarge", "PaymentProviderUnavailable", "Overloaded"]
    })
  )

export class PaymentWebhooksApi extends HttpApiGroup.make("webhooks")
  .add(paymentWebhook)
  .addError(ResellerError)
  .annotateContext(
    OpenApi.annotations({
      title: "Payment webhooks",
      description: "Notifications of the payment providers. Other clients do not need these routes."
    })
  ) {}

const acknowledge = (provider: string) =>
  resellerResponse(
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const body = yield* (yield* SmallBodies).read(NodeHttpServerRequest.toIncomingMessage(request))
      return yield* handleWebhook(provider, request.headers, body)
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(PaymentWebhooksApi), "webhooks", (handlers) =>
  handlers.handleRaw("receivePaymentWebhook", ({ path: { provider } }) => acknowledge(provider))
).pipe(withOnly(PaymentProviders, OrderPayments, SmallBodies, TopUpCounts, TopUpOrders))
