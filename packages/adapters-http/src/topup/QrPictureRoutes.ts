/**
 * Draws the QR code of an order. Whoever asks with an address we did not give out learns nothing, not even whether the
 * order exists.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import { OrderId, TopUpNotFound } from "@tollgate/domain/topup/TopUpOrder"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { renderSVG } from "uqr"
import { orResellerError } from "../http/ApiResponse.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { QrLinks } from "./QrLinks.ts"
import { QrPictureApi } from "./QrPictureApi.ts"

const readId = Schema.decodeOption(OrderId)

/** What the standard asks for: four modules of white around, and a code that is still read with a seventh of it lost. */
const draw = (content: string): string => renderSVG(content, { ecc: "M", border: 4 })

const picture = (orderId: string, seal: string) =>
  Effect.gen(function* () {
    const id = readId(orderId)
    const links = yield* QrLinks
    if (Option.isNone(id) || !links.isOurs(id.value, seal)) return yield* new TopUpNotFound()
    const found = yield* (yield* TopUpOrders).find(id.value)
    if (Option.isNone(found)) return yield* new TopUpNotFound()
    const { instructions } = found.value.order
    if (instructions._tag !== "Qris") return yield* new TopUpNotFound()
    return HttpServerResponse.text(draw(instructions.qrContent), {
      contentType: "image/svg+xml",
      headers: { "content-security-policy": "default-src 'none'" }
    })
  })

export const layer = HttpApiBuilder.group(gateway.add(QrPictureApi), "qrPictures", (handlers) =>
  handlers.handleRaw("qrPicture", ({ path: { orderID }, urlParams: { t = [] } }) =>
    orResellerError(picture(orderID, t.length === 1 ? (t[0] ?? "") : ""))
  )
)
