/**
 * Draws the QR code of an order as an SVG image. Returns 404 if the URL has no valid seal ({@link QrLinks}), if the
 * order does not exist, or if the method of the order is not `qris`.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import { TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import { OrderId, TopUpNotFound } from "@tollgate/domain/topup/TopUpOrder"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { renderSVG } from "uqr"
import { orResellerError } from "../http/ApiResponse.ts"
import { withOnly } from "../http/RouteServices.ts"
import { parameter, uuid } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { documented, ResellerError } from "../openapi/ResellerDocs.ts"
import { QrLinks } from "./QrLinks.ts"

const qrPicture = HttpApiEndpoint.get("getQrPicture", "/qr/:orderID.svg")
  .setPath(Schema.Struct({ orderID: uuid("The id of the order.", "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70") }))
  .setUrlParams(
    Schema.Struct({
      t: parameter({ type: "string", description: "The signature that proves that this service created the URL." })
    })
  )
  .addSuccess(HttpApiSchema.Text({ contentType: "image/svg+xml" }))
  .annotateContext(
    documented({
      summary: "Draw the QR code of an order",
      description: "The `qr_image_url` of a `qris` order is this URL if the payment provider supplies no image.",
      public: true,
      errors: ["TopUpNotFound"]
    })
  )

export class QrPicturesApi extends HttpApiGroup.make("qrPictures")
  .add(qrPicture)
  .addError(ResellerError)
  // The document shows this route in the section with the same title, whose description is in `TopUps.ts`.
  .annotateContext(OpenApi.annotations({ title: "Reseller: top-ups" })) {}

const readId = Schema.decodeOption(OrderId)

/** Draws the QR code with a white border of four modules (squares) and error correction that tolerates 15 % damage. */
const draw = (content: string): string => renderSVG(content, { ecc: "M", border: 4 })

const picture = (orderId: string, seal: string) =>
  Effect.gen(function* () {
    const id = readId(orderId)
    const links = yield* QrLinks
    if (Option.isNone(id) || !links.isIssued(id.value, seal)) return yield* new TopUpNotFound()
    const found = yield* (yield* TopUpOrders).find(id.value)
    if (Option.isNone(found)) return yield* new TopUpNotFound()
    const { instructions } = found.value.order
    if (instructions._tag !== "Qris") return yield* new TopUpNotFound()
    return HttpServerResponse.text(draw(instructions.qrContent), {
      contentType: "image/svg+xml",
      headers: { "content-security-policy": "default-src 'none'" }
    })
  })

export const layer = HttpApiBuilder.group(gateway.add(QrPicturesApi), "qrPictures", (handlers) =>
  handlers.handleRaw("getQrPicture", ({ path: { orderID }, urlParams: { t = [] } }) =>
    orResellerError(picture(orderID, t.length === 1 ? (t[0] ?? "") : ""))
  )
).pipe(withOnly(QrLinks, TopUpOrders))
