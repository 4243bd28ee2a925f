/**
 * Addresses of the QR pictures we draw. A picture is asked for by an `<img>`, which carries no token, so the address
 * itself says that we gave it out.
 */
import type { OrderId } from "@tollgate/domain/topup/TopUpOrder"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import { type SigningSecrets, sealsFor } from "../auth/SigningSecrets.ts"

export class QrLinks extends Context.Tag("@tollgate/adapters-http/QrLinks")<
  QrLinks,
  {
    /** From the root of the service on. */
    readonly pathOf: (id: OrderId) => string
    readonly isOurs: (id: OrderId, seal: string) => boolean
  }
>() {}

export const make = (secrets: SigningSecrets): Context.Tag.Service<QrLinks> => {
  const { seal, isSealed } = sealsFor("qr pictures", secrets)
  return {
    pathOf: (id) => `/qr/${id}.svg?t=${Buffer.from(seal(id)).toString("base64url")}`,
    isOurs: (id, given) => isSealed(id, Buffer.from(given, "base64url"))
  }
}

export const layer = (secrets: SigningSecrets): Layer.Layer<QrLinks> => Layer.sync(QrLinks, () => make(secrets))
