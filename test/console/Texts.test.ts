import { readdirSync, readFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import ts from "typescript"
import { describe, expect, it } from "vitest"
import { explain, Problem } from "../../apps/console/src/api/Problem.ts"
import { texts as english } from "../../apps/console/src/i18n/en.ts"
import { texts as indonesian } from "../../apps/console/src/i18n/id.ts"
import { operatorTables } from "../../apps/console/src/i18n/OperatorTexts.ts"
import { operation, routesOf } from "../adapters-http/OpenApiDocument.ts"

const en = { ...english, operatorPages: operatorTables.en }
const id = { ...indonesian, operatorPages: operatorTables.id }

const SOURCES = resolve(import.meta.dirname, "../../apps/console/src")

/** Returns each text by its path. A text with parameters is called with these samples. */
const flatWith = (
  samples: readonly [string, string],
  table: object,
  path = ""
): ReadonlyArray<readonly [string, string]> =>
  Object.entries(table).flatMap(([name, value]) => {
    if (typeof value === "function") return [[`${path}${name}`, String(value(...samples))] as const]
    return typeof value === "string"
      ? [[`${path}${name}`, value] as const]
      : flatWith(samples, value, `${path}${name}.`)
  })

const flat = (table: object) => flatWith(["<1>", "<2>"], table)

/** The paths of texts that are the same in both languages, such as names. */
const SAME = /^(shell\.languages|clients\.names)\.|^(common\.csv|topUps\.methods\.qris|topUps\.token|topUps\.memo)$/
const SAME_WORDS = /^(Email|Model|Program|Memo|Token|QRIS|CSV|Reseller|Status)$/

describe("the texts of the console", () => {
  it("exist in both languages", () => {
    expect(flat(id).map(([path]) => path)).toEqual(flat(en).map(([path]) => path))
    expect(flat(en).length).toBeGreaterThan(250)
    expect([...flat(en), ...flat(id)].filter(([, text]) => text.trim() === "")).toEqual([])
  })

  it("show the same parameters in both languages", () => {
    const shown = (table: object) =>
      flat(table).map(([path, text]) => [path, text.includes("<1>"), text.includes("<2>")])
    expect(shown(id)).toEqual(shown(en))
  })

  it("have the singular of an English noun for a single thing", () => {
    const inEnglish: ReadonlyArray<readonly [text: string, shown: string]> = [
      [english.limits.words.requests_per_minute("1"), "1 request per minute"],
      [english.limits.words.requests_per_minute("2"), "2 requests per minute"],
      [english.limits.words.concurrent_requests("1"), "1 concurrent request"],
      [english.customers.found("1"), "1 customer found"],
      [english.customers.found("0"), "0 customers found"],
      [english.customers.moreFound("1"), "1 more customer. Search by email."]
    ]
    expect(inEnglish.map(([text]) => text)).toEqual(inEnglish.map(([, shown]) => shown))
    const plurals = flatWith(["1", "1"], en).filter(([, text]) =>
      /\b1 (?:\w+ )?(?:tokens|requests|customers|seconds)\b/.test(text)
    )
    expect(plurals).toEqual([])
  })

  it("differ between the languages", () => {
    const english = new Map(flat(en))
    const same = flat(id).filter(
      ([path, text]) => text === english.get(path) && !SAME.test(path) && !SAME_WORDS.test(text)
    )
    expect(same).toEqual([])
  })
})

/**
 * Codes that no page of the console can get. The exception is `catalog_file_invalid`: its page shows the details of the
 * error instead.
 */
const NOT_SHOWN = new Set([
  "endpoint_not_found",
  "delivery_not_found",
  "too_many_endpoints",
  "invalid_signature",
  "expectation_failed",
  "headers_too_large",
  "catalog_file_invalid"
])

/** Returns the error codes in the examples of the documented responses of a route. */
const documentedCodes = (route: string): ReadonlySet<string> => {
  const examples = Object.entries(operation(route).responses)
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([, { content }]) => Object.values(content).flatMap((media) => Object.values(media.examples ?? {})))
  return new Set(examples.map(({ value }) => (value as { error: { code: string } }).error.code))
}

describe("the texts for errors", () => {
  it("exist for every code that a page can get", () => {
    const wire = resolve(import.meta.dirname, "../../packages/adapters-http/src")
    const files = [
      "wire/ResellerErrors.ts",
      "wire/OperatorErrors.ts",
      "wire/SharedErrorRows.ts",
      "http/SurfaceError.ts"
    ]
    const codes = files.flatMap((file) =>
      [...readFileSync(join(wire, file), "utf8").matchAll(/(?:\bcode: |^ {2}\| )"([a-z_]+)"/gm)].map(
        ([, code = ""]) => code
      )
    )
    expect(codes).toEqual(expect.arrayContaining(["validation_error", "review_not_found", "method_not_allowed"]))
    const known = { ...id.problems.byCode, ...id.operatorPages.problems }
    expect([...new Set(codes)].filter((code) => !NOT_SHOWN.has(code) && !Object.hasOwn(known, code))).toEqual([])
  })

  it("exist for every documented code of the routes of the pages", () => {
    const sources = readdirSync(SOURCES, { recursive: true, withFileTypes: true })
      .filter((entry) => /\.tsx?$/.test(entry.name))
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
      .join("\n")
    const routes = routesOf(/^\/(api|v1)\//).filter((route) => sources.includes(`"${route.split(" ")[1]}"`))
    expect(routes.length).toBeGreaterThan(50)
    const missing = routes.flatMap((route) => {
      const isOperators = route.includes("/api/operator")
      return [en, id].flatMap(({ operatorPages, problems }) => {
        const known = { ...problems.byCode, ...(isOperators ? operatorPages.problems : {}) }
        return [...documentedCodes(route)].filter((code) => !NOT_SHOWN.has(code) && !Object.hasOwn(known, code))
      })
    })
    expect(missing).toEqual([])
    const withoutText = routes.flatMap((route) => [...documentedCodes(route)].filter((code) => NOT_SHOWN.has(code)))
    expect([...new Set(withoutText)]).toEqual(["catalog_file_invalid"])
  })

  it("name the refused members of a request in the user's language", () => {
    const details = [{ path: "email", message: "an email address" }]
    const problem = new Problem(422, "validation_error", "email must be an email address.", { details })
    expect(explain(problem, english)).toBe("The service does not accept this input: email.")
    expect(explain(problem, indonesian)).toBe("Layanan tidak menerima isian ini: email.")
  })
})

/** Attributes that a user sees or hears. */
const SPOKEN = new Set([
  "alt",
  "aria-description",
  "aria-label",
  "hint",
  "intro",
  "label",
  "placeholder",
  "text",
  "title"
])

/**
 * Returns the texts that a file contains itself instead of taking them from the tables of texts: text in its JSX, the
 * attributes in `SPOKEN`, and string literals that begin with a capital and a small letter.
 */
const literalTexts = (path: string): ReadonlyArray<string> => {
  const file = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.ES2022, true, ts.ScriptKind.TSX)
  const found: Array<string> = []
  const visit = (node: ts.Node): void => {
    const isSpoken = ts.isJsxAttribute(node) && SPOKEN.has(node.name.getText(file))
    if (ts.isJsxText(node) && /\p{L}/u.test(node.text)) found.push(node.text.trim())
    if (isSpoken && node.initializer !== undefined && ts.isStringLiteral(node.initializer))
      found.push(node.initializer.text)
    else if (ts.isStringLiteral(node) && !ts.isLiteralTypeNode(node.parent) && /^\p{Lu}\p{Ll}/u.test(node.text))
      found.push(node.text)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

describe("a component of the console", () => {
  it("takes its texts from the tables of texts", () => {
    const files = readdirSync(SOURCES, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.name.endsWith(".tsx"))
      .map((entry) => join(entry.parentPath, entry.name))
    expect(files.length).toBeGreaterThan(25)
    expect(files.flatMap((path) => literalTexts(path).map((text) => `${relative(SOURCES, path)}: ${text}`))).toEqual([])
  })
})
