/**
 * Serves the documentation page at `/docs`, which is rendered from the OpenAPI document.
 *
 * The Content-Security-Policy contains the hashes of the page's script and style, so a browser runs no other script on
 * the page. No other page can embed this page, and this page sends requests only to the gateway.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import * as Module from "node:module"
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Representation from "../http/Representation.ts"
import { ServiceTitle } from "../http/ServiceTitle.ts"
import { documentOf } from "./DocumentRoute.ts"
import type { Document } from "./page/Document.ts"
import { pageOf } from "./page/Page.ts"

export const DOCUMENTATION_PATH = "/docs"

const resolve = Module.createRequire(import.meta.url).resolve

const asset = (name: string): string => readFileSync(resolve(`@tollgate/adapters-http/assets/${name}`), "utf8")

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

const policyOf = (script: string, style: string): string =>
  [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")

/** Adds the route of the page. The first request renders the page. */
export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const { api } = yield* HttpApi.Api
    const service = yield* ServiceTitle
    const script = asset("docs/docs.js")
    const style = asset("theme.css") + asset("docs/docs.css")
    let page: Representation.Representation | undefined
    const rendered = (): Representation.Representation => {
      page ??= Representation.make(
        pageOf(documentOf(api, service) as unknown as Document, { service, style, script }),
        {
          contentType: "text/html; charset=utf-8",
          cacheControl: "no-cache",
          headers: { "content-security-policy": policyOf(script, style), "referrer-policy": "no-referrer" }
        }
      )
      return page
    }
    yield* router.get(
      DOCUMENTATION_PATH,
      Effect.map(HttpServerRequest.HttpServerRequest, (request) => Representation.respond(rendered(), request))
    )
  })
)
