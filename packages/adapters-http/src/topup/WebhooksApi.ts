/**
 * Where payment providers report that something happened to a payment (gap D9).
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { text } from "../openapi/Fields.ts"
import { documented, ResellerError } from "../openapi/ResellerDocs.ts"

const Report = Schema.Unknown.annotations({
  jsonSchema: { type: "object", description: "As the provider sends it, with its signature." }
})

const Acknowledgement = Schema.Unknown.annotations({
  jsonSchema: { type: "object", description: "What the provider wants to hear.", examples: [{ success: true }] }
})

const paymentWebhook = HttpApiEndpoint.post("paymentWebhook", "/webhooks/payments/:provider")
  .setPath(Schema.Struct({ provider: text("The provider's name.", "midtrans") }))
  .setPayload(Report)
  .addSuccess(Acknowledgement)
  .annotateContext(
    documented({
      summary: "For payment providers: something happened to a payment",
      description:
        "Only wakes us: what happened is asked of the provider. Orders that do not exist are acknowledged like others.",
      open: true,
      errors: ["BadSignature", "NotFound", "RequestTooLarge", "Overloaded"]
    })
  )

export class WebhooksApi extends HttpApiGroup.make("webhooks")
  .add(paymentWebhook)
  .addError(ResellerError)
  .annotateContext(OpenApi.annotations({ title: "Payment webhooks" })) {}
