/**
 * Serves the built console under `/console` (docs/adr/0013-console.md). The files are read once, when the server
 * starts. The build compresses the files in `assets/`, and their names contain a hash of their content, so browsers
 * cache them for a year. A browser revalidates only the HTML page. Every path outside `assets/` returns the same HTML
 * page, because the code in the browser selects the view by the path.
 */
import { readdir, readFile } from "node:fs/promises"
import { extname, join, relative, sep } from "node:path"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { surfaceErrorResponse } from "../http/ApiResponse.ts"
import * as Representation from "../http/Representation.ts"
import { ServiceTitle } from "../http/ServiceTitle.ts"
import { pathOf } from "../http/SurfaceError.ts"

/** The folder with the built console; undefined if this installation has no console. */
export class ConsoleFolder extends Context.Reference<ConsoleFolder>()("@tollgate/adapters-http/ConsoleFolder", {
  defaultValue: (): string | undefined => undefined
}) {}

export const CONSOLE_PATH = "/console"

/**
 * Forbids inline code, the evaluation of text as code, frames, and resources of other hosts. No policy for Trusted
 * Types is allowed, so in a browser with Trusted Types no script can convert text to HTML.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  ...["script-src", "style-src", "img-src", "connect-src"].map((kind) => `${kind} 'self'`),
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join("; ")

const contentTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml"
}

const HASHED_FILE = { cacheControl: "public, max-age=31536000, immutable" }

const pageOf = async (folder: string, title: string): Promise<Representation.Representation> => {
  const html = await readFile(join(folder, "index.html"), "utf8")
  return Representation.make(html.replaceAll("{{service}}", title), {
    contentType: "text/html; charset=utf-8",
    cacheControl: "no-cache",
    headers: {
      "content-security-policy": CONTENT_SECURITY_POLICY,
      "cross-origin-opener-policy": "same-origin",
      "referrer-policy": "no-referrer"
    }
  })
}

/** Returns the hashed files by their URL path. */
const assetsOf = async (folder: string): Promise<ReadonlyMap<string, Representation.Representation>> => {
  const entries = await readdir(join(folder, "assets"), { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".br")).map(({ name }) => name)
  const assets = names.map(async (compressed) => {
    const path = join(folder, "assets", compressed.slice(0, -".br".length))
    const [plain, brotli, gzip] = await Promise.all([path, `${path}.br`, `${path}.gz`].map((file) => readFile(file)))
    const representation = Representation.make(plain as Buffer, {
      contentType: contentTypes[extname(path)] ?? "application/octet-stream",
      ...HASHED_FILE,
      compressed: { br: brotli as Buffer, gzip: gzip as Buffer }
    })
    return [`${CONSOLE_PATH}/${relative(folder, path).replaceAll(sep, "/")}`, representation] as const
  })
  return new Map(await Promise.all(assets))
}

const notFound = (path: string) => surfaceErrorResponse({ code: "not_found", message: `There is no file ${path}.` })

const notBuilt = surfaceErrorResponse({
  code: "not_found",
  message: "This installation has no console. `npm run build` builds it."
})

/** Adds the console's routes. Without a folder, the routes return an error that states that there is no console. */
export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const folder = yield* ConsoleFolder
    const title = yield* ServiceTitle
    const built =
      folder === undefined
        ? undefined
        : yield* Effect.promise(async () => ({ page: await pageOf(folder, title), assets: await assetsOf(folder) }))
    const serve = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      if (built === undefined) return notBuilt
      const path = pathOf(request.originalUrl)
      const isAsset = path.startsWith(`${CONSOLE_PATH}/assets/`)
      const found = isAsset ? built.assets.get(path) : built.page
      return found === undefined ? notFound(path) : Effect.succeed(Representation.respond(found, request))
    })
    yield* router.get(CONSOLE_PATH, serve)
    yield* router.get(`${CONSOLE_PATH}/*`, serve)
  })
)
