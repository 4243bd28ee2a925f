/**
 * Writes the errors `not_found`, `internal_error` and `overloaded` as a page, for a person who opens an address in a
 * browser. Programs get the same error as JSON.
 */
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { requestIdOf } from "../http/RequestIds.ts"
import { retryAfter } from "../wire/RetryAfter.ts"
import { html } from "./Html.ts"
import { CONTENT_TYPE, framed, PAGE_HEADERS } from "./PageFrame.ts"
import { pageTexts } from "./PageTexts.ts"
import { languageOf } from "./Visitor.ts"

const statuses = { not_found: 404, internal_error: 500, overloaded: 503 } as const

export type ErrorPageCode = keyof typeof statuses

export const errorPage = (
  request: HttpServerRequest,
  service: string,
  code: ErrorPageCode
): HttpServerResponse.HttpServerResponse => {
  const language = languageOf(request)
  const texts = pageTexts[language]
  const [title = "", text = ""] = texts.errors[code]
  const content = html`<section class="hero">
<h1>${title}</h1>
<p class="lead">${text}</p>
<p class="actions"><a class="button primary" href="/?lang=${language}">${texts.toStart}</a></p>
<p class="quiet">${texts.requestId} <code>${requestIdOf(request)}</code></p>
</section>`
  return HttpServerResponse.text(framed({ service, language, title, content }), {
    status: statuses[code],
    contentType: CONTENT_TYPE,
    headers: {
      ...PAGE_HEADERS,
      vary: "accept, accept-language",
      ...(code === "overloaded" ? retryAfter({ retryAfterSeconds: 1 }) : {})
    }
  })
}
