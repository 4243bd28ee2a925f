/**
 * Serves the page at `/rankings` and the files that the page loads. All files are read once, when the server starts.
 */
import { readFile } from "node:fs/promises"
import * as Module from "node:module"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Representation from "../http/Representation.ts"
import { ServiceTitle } from "../http/ServiceTitle.ts"

/** Forbids the page to load files from other hosts or to send requests to other hosts. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  ...["script-src", "style-src", "img-src", "connect-src"].map((kind) => `${kind} 'self'`),
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

const assetOf = (name: string): string => `@tollgate/adapters-http/assets/rankings/${name}`

/** Maps the URL path of each file to the module specifier that resolves to the file. */
const files: Readonly<Record<string, string>> = {
  "/rankings": assetOf("index.html"),
  ...Object.fromEntries(
    [
      "rankings.css",
      "icon.svg",
      "rankings.js",
      "elements.js",
      "feed.js",
      "lists.js",
      "model-colours.js",
      "usage-chart.js",
      "format.js"
    ].map((name) => [`/rankings/${name}`, assetOf(name)])
  ),
  "/rankings/uplot.js": "uplot/dist/uPlot.iife.min.js",
  "/rankings/uplot.css": "uplot/dist/uPlot.min.css"
}

export const paths: ReadonlyArray<string> = Object.keys(files)

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml"
}

const resolve = Module.createRequire(import.meta.url).resolve

const read = async (file: string, title: string): Promise<Representation.Representation> => {
  const path = resolve(file)
  const text = await readFile(path, "utf8")
  return Representation.make(text.replaceAll("{{service}}", title), {
    contentType: contentTypes[path.slice(path.lastIndexOf(".") + 1)] ?? "application/octet-stream",
    // `no-cache` makes browsers revalidate each file on every load, so that all files of a page have the same version.
    cacheControl: "no-cache",
    headers: { "content-security-policy": CONTENT_SECURITY_POLICY, "referrer-policy": "no-referrer" }
  })
}

/** Adds the page's routes. If a file is missing, the server does not start. */
export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const title = yield* ServiceTitle
    for (const [path, file] of Object.entries(files)) {
      const representation = yield* Effect.promise(() => read(file, title))
      yield* router.get(
        path as `/${string}`,
        Effect.map(HttpServerRequest.HttpServerRequest, (request) => Representation.respond(representation, request))
      )
    }
  })
)
