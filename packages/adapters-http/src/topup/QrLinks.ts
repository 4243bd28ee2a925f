/**
 * Creates the URLs of the QR images that this service draws. A browser loads an image without a token. Therefore the
 * URL contains a seal (an HMAC), which proves that this service created the URL.
 */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type { OrderId } from "@tollgate/domain/topup/TopUpOrder"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type SigningSecrets, sealsFor } from "../auth/SigningSecrets.ts"
import { TrustedProxies } from "../http/TrustedProxies.ts"

export class QrLinks extends Context.Tag("@tollgate/adapters-http/QrLinks")<
  QrLinks,
  {
    /** Yields the function that returns the URL of an order's QR image. */
    readonly urlOf: Effect.Effect<(id: OrderId) => string, never, HttpServerRequest.HttpServerRequest>
    readonly isIssued: (id: OrderId, seal: string) => boolean
  }
>() {}

export interface QrLinksOptions extends SigningSecrets {
  /** Base URL of the image URLs; if undefined, the image URLs begin with the origin of the request. */
  readonly publicBaseUrl: string | undefined
}

const HOST = /^(?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i

/**
 * Returns the origin of a request's URL. The scheme is https if a trusted proxy reports https, else http. If the Host
 * header is missing or malformed, the host is `localhost` with the port of the server.
 */
const originOf = (request: HttpServerRequest.HttpServerRequest, proxies: Context.Tag.Service<TrustedProxies>) => {
  const { socket, headers } = NodeHttpServerRequest.toIncomingMessage(request)
  const host = headers.host ?? ""
  const scheme = proxies.trusts(socket.remoteAddress ?? "") ? headers["x-forwarded-proto"] : undefined
  const known = HOST.test(host) ? host : `localhost:${socket.localPort ?? 80}`
  return `${scheme === "https" ? "https" : "http"}://${known}`
}

export const layer = ({ publicBaseUrl, ...secrets }: QrLinksOptions): Layer.Layer<QrLinks, never, TrustedProxies> =>
  Layer.effect(
    QrLinks,
    Effect.map(TrustedProxies, (proxies) => {
      const { seal, isSealed } = sealsFor("qr pictures", secrets)
      const base = publicBaseUrl?.replace(/\/+$/, "")
      return {
        urlOf: Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
          const origin = base ?? originOf(request, proxies)
          return (id: OrderId) => `${origin}/qr/${id}.svg?t=${Buffer.from(seal(id)).toString("base64url")}`
        }),
        isIssued: (id, given) => isSealed(id, Buffer.from(given, "base64url"))
      }
    })
  )
