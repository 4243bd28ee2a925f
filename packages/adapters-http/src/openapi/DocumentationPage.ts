/**
 * Adds a Content-Security-Policy to the documentation page, which the library renders with one inline script.
 *
 * The policy names the hash of this script, so a browser runs no other script on the page. Pages of other hosts cannot
 * embed the page, and the page sends requests only to the gateway.
 */
import { createHash } from "node:crypto"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { pathOf } from "../http/SurfaceError.ts"

export const DOCUMENTATION_PATH = "/docs"

const INLINE_SCRIPT = /<script>([\s\S]*?)<\/script>/g

const policyOf = (page: string): string => {
  const hashes = [...page.matchAll(INLINE_SCRIPT)].map(
    ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`
  )
  return [
    "default-src 'none'",
    `script-src ${hashes.join(" ")}`,
    // The page styles its elements with attributes, which have no hash.
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")
}

/** Policies by the bytes of the page. The library creates the bytes once. */
const policies = new WeakMap<Uint8Array, string>()

const withPolicy = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
  const { body } = response
  if (body._tag !== "Uint8Array") return response
  const policy = policies.get(body.body) ?? policyOf(Buffer.from(body.body).toString())
  policies.set(body.body, policy)
  return HttpServerResponse.setHeaders(response, {
    "content-security-policy": policy,
    "referrer-policy": "no-referrer"
  })
}

export const policyLayer = HttpApiBuilder.middleware((app) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    pathOf(request.originalUrl) === DOCUMENTATION_PATH ? Effect.map(app, withPolicy) : app
  )
)
