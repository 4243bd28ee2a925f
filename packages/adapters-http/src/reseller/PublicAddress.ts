/**
 * Where this service is reached, for the addresses it gives out: as the settings say, or else as the request was
 * addressed.
 */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TrustedProxies } from "../auth/TrustedProxies.ts"

export class PublicAddress extends Context.Tag("@tollgate/adapters-http/PublicAddress")<
  PublicAddress,
  {
    /** Without a slash at its end. */
    readonly base: Effect.Effect<string, never, HttpServerRequest.HttpServerRequest>
  }
>() {}

const HOST = /^(?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i

export const layer = (publicBaseUrl: string | undefined): Layer.Layer<PublicAddress, never, TrustedProxies> =>
  Layer.effect(
    PublicAddress,
    Effect.map(TrustedProxies, (proxies) => {
      if (publicBaseUrl !== undefined) return { base: Effect.succeed(publicBaseUrl.replace(/\/+$/, "")) }
      const base = Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
        const { socket, headers } = NodeHttpServerRequest.toIncomingMessage(request)
        const host = headers.host ?? ""
        const scheme = proxies.trusts(socket.remoteAddress ?? "") ? headers["x-forwarded-proto"] : undefined
        const known = HOST.test(host) ? host : `localhost:${socket.localPort ?? 80}`
        return `${scheme === "https" ? "https" : "http"}://${known}`
      })
      return { base }
    })
  )
