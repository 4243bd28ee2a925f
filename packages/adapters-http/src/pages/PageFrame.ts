/**
 * Builds the frame of the pages at `/` and of the error pages, defines the headers of their responses, and serves their
 * style sheets. The pages need no script, and their Content-Security-Policy forbids every script.
 */
import { readFileSync } from "node:fs"
import * as Module from "node:module"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Representation from "../http/Representation.ts"
import { type Html, html } from "./Html.ts"
import { pageTexts } from "./PageTexts.ts"
import type { Language } from "./Visitor.ts"

export const PAGE_HEADERS = {
  "content-security-policy": [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; "),
  "referrer-policy": "no-referrer"
}

export const CONTENT_TYPE = "text/html; charset=utf-8"

interface Frame {
  readonly service: string
  readonly language: Language
  readonly title: string
  readonly description?: string
  readonly content: Html
}

/** Returns a whole page. */
export const framed = ({ service, language, title, description = title, content }: Frame): string => {
  const texts = pageTexts[language]
  const other: Language = language === "id" ? "en" : "id"
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${description}">
<title>${title} · ${service}</title>
<link rel="icon" href="/rankings/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/theme.css">
<link rel="stylesheet" href="/assets/pages.css">
</head>
<body>
<a class="skip" href="#content">${texts.skip}</a>
<header>
<a class="wordmark" href="/?lang=${language}"><svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true"><rect class="post" x="3" y="9" width="6" height="20" rx="1.5"/><rect class="arm" x="9" y="12" width="20" height="5" rx="1.5"/><path class="stripe" d="m13 12 3 0-2 5-3 0zM20 12l3 0-2 5-3 0zM27 12l2 0 0 3-1 2-3 0z"/></svg>${service}</a>
<nav><a href="/docs">${texts.documentation}</a><a href="/rankings">${texts.rankings}</a><a href="/console">${texts.console}</a></nav>
</header>
<main id="content">
${content}
</main>
<footer><a href="/?lang=${other}" hreflang="${other}" lang="${other}">${texts.otherLanguage}</a></footer>
</body>
</html>
`.text
}

const STYLE_SHEETS = ["theme.css", "pages.css"]

export const paths: ReadonlyArray<string> = STYLE_SHEETS.map((name) => `/assets/${name}`)

const resolve = Module.createRequire(import.meta.url).resolve

/** Serves the style sheets. */
export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    for (const name of STYLE_SHEETS) {
      const content = readFileSync(resolve(`@tollgate/adapters-http/assets/${name}`), "utf8")
      const sheet = Representation.make(content, { contentType: "text/css; charset=utf-8", cacheControl: "no-cache" })
      yield* router.get(
        `/assets/${name}` as const,
        Effect.map(HttpServerRequest.HttpServerRequest, (request) => Representation.respond(sheet, request))
      )
    }
  })
)
