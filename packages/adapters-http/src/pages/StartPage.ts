/**
 * Serves a page at `/` for browsers. The page describes the service and the first steps, and lists the models with
 * their prices if the operator publishes the prices. Programs get JSON at `/` (docs/reference/console.md#w7).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { type Catalog, discoverable } from "@tollgate/domain/catalog/Catalog"
import type { Model } from "@tollgate/domain/catalog/Model"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Representation from "../http/Representation.ts"
import { ServiceTitle } from "../http/ServiceTitle.ts"
import { pathOf } from "../http/SurfaceError.ts"
import { type Html, html } from "./Html.ts"
import { CONTENT_TYPE, framed, PAGE_HEADERS } from "./PageFrame.ts"
import { type PageTexts, pageTexts } from "./PageTexts.ts"
import { type Language, languageOf, wantsPage } from "./Visitor.ts"

/** Whether the page shows the models and their prices. */
export class PublicPrices extends Context.Reference<PublicPrices>()("@tollgate/adapters-http/PublicPrices", {
  defaultValue: () => false
}) {}

const MICRO_DIGITS = 6
const LOCALES = { id: "id-ID", en: "en-US" } as const

/** Returns a rate as USD for a million tokens. One pico-USD per token is one micro-USD per million tokens. */
const usd = (picoPerToken: bigint, language: Language): string => {
  const digits = picoPerToken.toString().padStart(MICRO_DIGITS + 1, "0")
  const decimal = `${digits.slice(0, -MICRO_DIGITS)}.${digits.slice(-MICRO_DIGITS)}` as `${number}`
  const format = { minimumFractionDigits: 2, maximumFractionDigits: MICRO_DIGITS }
  return `$${new Intl.NumberFormat(LOCALES[language], format).format(decimal as unknown as number)}`
}

const row = ({ publicName, displayName, author, kind, price }: Model, language: Language): Html => html`<tr>
<th scope="row"><strong>${displayName}</strong> <small>${author}</small><br><code>${publicName}</code></th>
<td>${usd(price.input, language)}</td>
<td>${kind === "embedding" ? "–" : usd(price.cacheRead, language)}</td>
<td>${kind === "embedding" ? "–" : usd(price.output, language)}</td>
</tr>
`

const pricesOf = (models: ReadonlyArray<Model>, texts: PageTexts, language: Language): Html =>
  models.length === 0
    ? html``
    : html`<section aria-labelledby="models">
<h2 id="models">${texts.modelsTitle}</h2>
<p>${texts.pricesNote}</p>
<div class="table" role="region" aria-label="${texts.pricesNote}" tabindex="0"><table>
<thead><tr><th scope="col">${texts.model}</th><th scope="col">${texts.input}</th><th scope="col">${texts.cached}</th><th scope="col">${texts.output}</th></tr></thead>
<tbody>
${models.map((model) => row(model, language))}</tbody>
</table></div>
</section>`

const contentOf = (models: ReadonlyArray<Model>, language: Language): Html => {
  const texts = pageTexts[language]
  return html`<section class="hero">
<h1>${texts.title}</h1>
<p class="lead">${texts.lead}</p>
<p class="actions"><a class="button primary" href="/console/signup">${texts.signUp}</a><a class="button" href="/console/key">${texts.balance}</a></p>
</section>
<section aria-labelledby="reasons">
<h2 id="reasons">${texts.reasonsTitle}</h2>
<ul class="reasons">${texts.reasons.map(([title = "", text = ""]) => html`<li><h3>${title}</h3><p>${text}</p></li>`)}</ul>
</section>
<section aria-labelledby="start">
<h2 id="start">${texts.startTitle}</h2>
<ol class="start">${texts.start.map((step) => html`<li>${step}</li>`)}</ol>
<p><a href="/docs">${texts.settings}</a></p>
</section>
${pricesOf(models, texts, language)}`
}

/** Responds to a browser at `/`. Passes every other request to the next handler. */
export const layer = HttpApiBuilder.middleware(
  Effect.gen(function* () {
    const service = yield* ServiceTitle
    const showsPrices = yield* PublicPrices
    const catalog = yield* CurrentCatalog
    const pages = new WeakMap<Catalog, Map<Language, Representation.Representation>>()
    const pageOf = (current: Catalog, language: Language): Representation.Representation => {
      const rendered = pages.get(current) ?? new Map<Language, Representation.Representation>()
      pages.set(current, rendered)
      const existing = rendered.get(language)
      if (existing !== undefined) return existing
      const { title, lead } = pageTexts[language]
      const content = contentOf(showsPrices ? discoverable(current) : [], language)
      const page = Representation.make(framed({ service, language, title, description: lead, content }), {
        contentType: CONTENT_TYPE,
        cacheControl: "no-cache",
        headers: PAGE_HEADERS,
        vary: "accept, accept-encoding, accept-language"
      })
      rendered.set(language, page)
      return page
    }
    return (app) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        pathOf(request.originalUrl) === "/" && wantsPage(request)
          ? Effect.succeed(Representation.respond(pageOf(catalog.get(), languageOf(request)), request))
          : app
      )
  })
)
