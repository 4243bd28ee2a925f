/**
 * Decides to which URLs webhooks may be sent. A URL must use https on the port 443 or 8443 of a public host, unless the
 * operator has named its origin as a private origin (docs/reference/webhooks.md#wh4).
 *
 * The URL parser of Node.js converts every form of an IPv4 address, such as `0x7f.1` or `2130706433`, to four decimal
 * numbers. Except for private origins, the addresses of a host name are checked in each attempt, when the name is
 * resolved.
 */
import { isIP } from "node:net"
import { WebhookTargets } from "@tollgate/application/webhook/WebhookEndpoints"
import { invalid } from "@tollgate/domain/validation/Validation"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { isPublic } from "./PublicAddresses.ts"

/** The origins, such as `http://10.0.0.5:8080`, that may use http, any port and any address. */
export type PrivateOrigins = ReadonlySet<string>

export interface AllowedTarget {
  readonly url: URL
  /** True if the operator has named the origin, so that its addresses are not checked. */
  readonly isPrivate: boolean
  /** The host as an IP address; undefined if it must be resolved. */
  readonly address: string | undefined
}

/** The empty text stands for the port 443, because a parsed https URL omits this port. */
const PORTS = new Set(["", "8443"])

/** Returns the target; undefined if it is forbidden to send webhooks to the URL. */
export const allowedTarget = (text: string, privateOrigins: PrivateOrigins): AllowedTarget | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // A blob URL has the origin of the URL that it contains, but no host.
  if (url === undefined || url.protocol === "blob:" || url.username !== "" || url.password !== "" || url.hash !== "")
    return undefined
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1")
  const address = isIP(host) === 0 ? undefined : host
  if (privateOrigins.has(url.origin)) return { url, isPrivate: true, address }
  if (url.protocol !== "https:" || !PORTS.has(url.port)) return undefined
  return address === undefined || isPublic(address) ? { url, isPrivate: false, address } : undefined
}

export const layer = (privateOrigins: PrivateOrigins): Layer.Layer<WebhookTargets> =>
  Layer.succeed(WebhookTargets, {
    check: (text) => {
      const target = allowedTarget(text, privateOrigins)
      return target === undefined
        ? Either.left(
            invalid("url", "an https URL of a public host, on the port 443 or 8443, without user and fragment")
          )
        : Either.right(target.url.href)
    }
  })
