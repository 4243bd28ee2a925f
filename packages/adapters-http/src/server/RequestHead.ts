/**
 * Refuses some request heads that Node.js accepts: heads that other servers could read differently, that violate RFC
 * 9112, or that have too many headers. The connection of a refused request is closed (docs/reference/http.md).
 */
import type { IncomingMessage } from "node:http"
import type { SurfaceError } from "../http/SurfaceError.ts"

/**
 * The maximum number of headers. Node.js silently drops headers above its own limit. Therefore `NodeServer.ts` sets the
 * limit of Node.js to one header more.
 */
export const MAX_HEADERS = 200

const refused = (message: string): SurfaceError => ({ code: "invalid_request", message })

const unsupportedVersion = refused("Send the request with HTTP/1.1.")
const noHost = refused("The request has no Host header.")
const wrongHost = refused("The request must have one Host header with a valid host.")
const unsupportedCoding = refused("The only supported transfer coding is 'chunked', with HTTP/1.1.")
const noPath = refused("The target of the request must be a path or an absolute URL.")
const tooManyHeaders: SurfaceError = {
  code: "headers_too_large",
  message: `The request has more than ${MAX_HEADERS} headers.`
}

/** Matches the characters of a host and port in RFC 3986. */
const HOST = /^[\w.\-~%!$&'()*+,;=:[\]]*$/

/** Returns the error for a request head that is refused; undefined if the head is accepted. */
export const headError = (request: IncomingMessage): SurfaceError | undefined => {
  const { headers, httpVersion, rawHeaders } = request
  const isOld = httpVersion !== "1.1"
  if (isOld && httpVersion !== "1.0") return unsupportedVersion
  if (rawHeaders.length > 2 * MAX_HEADERS) return tooManyHeaders
  if (headers.host === undefined ? !isOld : hosts(rawHeaders) > 1 || !HOST.test(headers.host)) {
    return headers.host === undefined ? noHost : wrongHost
  }
  const coding = headers["transfer-encoding"]
  if (coding !== undefined && (isOld || coding.toLowerCase() !== "chunked")) return unsupportedCoding
  return request.url === "*" && request.method !== "OPTIONS" ? noPath : undefined
}

/** Counts the Host headers. `request.headers` contains only the first. */
const hosts = (rawHeaders: ReadonlyArray<string>): number => {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === "host") count += 1
  }
  return count
}

const SLASH = 0x2f
const ORIGIN = /^https?:\/\/[^/?#]*/i

/**
 * Removes the scheme and the host of an absolute URL (`http://host/path`). Returns any other request target unchanged.
 */
export const originForm = (target: string): string => {
  if (target.charCodeAt(0) === SLASH) return target
  const path = target.replace(ORIGIN, "")
  return path.charCodeAt(0) === SLASH || path === target ? path : `/${path}`
}
