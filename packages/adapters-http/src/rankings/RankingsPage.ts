/**
 * Serves the page at `/rankings`, in English and in Indonesian, and the files that the page loads from `/rankings/`.
 * These files are read once, when the server starts.
 */
import { readFileSync } from "node:fs"
import * as Module from "node:module"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Representation from "../http/Representation.ts"
import { ServiceTitle } from "../http/ServiceTitle.ts"
import { type Language, languageOf } from "../pages/Visitor.ts"

/** Forbids the page to load files from other hosts or to send requests to other hosts. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  ...["script-src", "style-src", "img-src", "connect-src"].map((kind) => `${kind} 'self'`),
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

const assetOf = (name: string): string => `@tollgate/adapters-http/assets/rankings/${name}`

const PAGE_PATH = "/rankings"

/** Maps the URL path of each file to the module specifier that resolves to the file. */
const files: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      "rankings.css",
      "icon.svg",
      "browser-language.js",
      "rankings.js",
      "elements.js",
      "feed.js",
      "lists.js",
      "messages.js",
      "model-colours.js",
      "usage-chart.js",
      "format.js"
    ].map((name) => [`/rankings/${name}`, assetOf(name)])
  ),
  "/rankings/uplot.js": "uplot/dist/uPlot.iife.min.js",
  "/rankings/uplot.css": "uplot/dist/uPlot.min.css"
}

export const paths: ReadonlyArray<string> = [PAGE_PATH, ...Object.keys(files)]

const contentTypes: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml"
}

const resolve = Module.createRequire(import.meta.url).resolve

const SECURITY_HEADERS = { "content-security-policy": CONTENT_SECURITY_POLICY, "referrer-policy": "no-referrer" }
/** Makes browsers revalidate each file on every load, so that a page does not use an old version of a file. */
const cacheControl = "no-cache"

const read = (file: string): Representation.Representation => {
  const path = resolve(file)
  return Representation.make(readFileSync(path), {
    contentType: contentTypes[path.slice(path.lastIndexOf(".") + 1)] ?? "application/octet-stream",
    cacheControl,
    headers: SECURITY_HEADERS
  })
}

/** Returns the page with the texts of one language. */
const readPage = (language: Language, service: string): Representation.Representation => {
  const texts = JSON.parse(readFileSync(resolve(assetOf(`messages/${language}.json`)), "utf8")) as Record<
    string,
    string
  >
  const template = readFileSync(resolve(assetOf("index.html")), "utf8")
  const values: Readonly<Record<string, string>> = {
    ...texts,
    service
  }
  const messages = JSON.stringify(texts).replaceAll("<", "\\u003c")
  const localized = template
    .replace('<html lang="en">', `<html lang="${language}">`)
    .replace('"{{messages}}"', () => messages)
  const page = localized.replace(/\{\{([\w.]+)\}\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`there is no text with the key ${name} in the language ${language}`)
    return value.replaceAll("{service}", service)
  })
  return Representation.make(page, {
    contentType: "text/html; charset=utf-8",
    cacheControl,
    vary: "accept-encoding, accept-language",
    headers: { ...SECURITY_HEADERS, "content-language": language }
  })
}

/** Adds the page's routes. If a file is missing, the server does not start. */
export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const service = yield* ServiceTitle
    const pages = { en: readPage("en", service), id: readPage("id", service) }
    yield* router.get(
      PAGE_PATH,
      Effect.map(HttpServerRequest.HttpServerRequest, (request) =>
        Representation.respond(pages[languageOf(request)], request)
      )
    )
    for (const [path, file] of Object.entries(files)) {
      const representation = read(file)
      yield* router.get(
        path as `/${string}`,
        Effect.map(HttpServerRequest.HttpServerRequest, (request) => Representation.respond(representation, request))
      )
    }
  })
)
