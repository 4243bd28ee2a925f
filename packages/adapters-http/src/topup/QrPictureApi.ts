/**
 * The QR picture of a top-up order.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { parameter, uuid } from "../openapi/Fields.ts"
import { documented, ResellerError } from "../openapi/ResellerDocs.ts"

const qrPicture = HttpApiEndpoint.get("qrPicture", "/qr/:orderID.svg")
  .setPath(Schema.Struct({ orderID: uuid("The id of the order.", "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70") }))
  .setUrlParams(
    Schema.Struct({
      t: parameter({ type: "string", description: "Shows that the address was given out by this service." })
    })
  )
  .addSuccess(HttpApiSchema.Text({ contentType: "image/svg+xml" }))
  .annotateContext(
    documented({
      summary: "The QR code of an order, as a picture",
      description:
        "What `qr_image_url` of a `qris` order points to when the payment provider has no picture of its own.",
      open: true,
      errors: ["TopUpNotFound"]
    })
  )

export class QrPictureApi extends HttpApiGroup.make("qrPictures")
  .add(qrPicture)
  .addError(ResellerError)
  .annotateContext(OpenApi.annotations({ title: "Reseller: QR pictures" })) {}
