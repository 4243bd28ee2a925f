/**
 * Tests rules that neither the compiler nor .dependency-cruiser.mjs checks.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { describe, expect, it } from "vitest"

const root = resolve(import.meta.dirname, "..")

const filesUnder = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !/(^|\/)(node_modules|dist|\.tollgate)\//.test(path))

const sources = [...filesUnder("packages"), ...filesUnder("apps")].filter((path) => /\.tsx?$/.test(path))
const documents = [
  ...["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"],
  ...[...filesUnder("docs"), ...filesUnder("packages")].filter((path) => path.endsWith(".md"))
]
const read = (path: string): string => readFileSync(join(root, path), "utf8")

/** Returns the text of a file without comments, because the rules apply only to code. */
const codeOf = (path: string): string =>
  read(path)
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ""))
    .replace(/(^|[^:"'`])\/\/.*$/gm, "$1")

const linesWith = (paths: ReadonlyArray<string>, words: RegExp): ReadonlyArray<string> =>
  paths.flatMap((path) =>
    codeOf(path)
      .split("\n")
      .flatMap((line, i) => (words.test(line) ? [`${path}:${i + 1} ${line.trim()}`] : []))
  )

const inLayer = (...layers: ReadonlyArray<string>) =>
  sources.filter((path) => layers.some((layer) => path.startsWith(`${layer}/`)))
const DOMAIN = "packages/domain/src"
const APPLICATION = "packages/application/src"
const POSTGRES = "packages/adapters-postgres/src"

describe("the layers", () => {
  it("use no effects or clocks in the domain", () => {
    const words = /effect\/(Context|Layer|Clock|Runtime|ManagedRuntime|Effect)"|performance\.now|new Date\(\)/
    expect(linesWith(inLayer(DOMAIN), words)).toEqual([])
  })

  it("throw no exception in the domain and the application", () => {
    const words = /\bthrow\b|Effect\.run(Promise|Sync|Fork|Callback)|Runtime\.run/
    expect(linesWith(inLayer(DOMAIN, APPLICATION), words)).toEqual([])
  })

  it("use no environment, global clock or random numbers in packages", () => {
    expect(linesWith(inLayer("packages"), /process\.env\b|Date\.now\(|Math\.random\(/)).toEqual([])
  })

  it("use no floating-point numbers in domain, application and Postgres adapter", () => {
    const words = /\bNumber\(|parseFloat|toFixed|\bNumber\.parse/
    // A count of tokens of one class is at most a billion, so this conversion is exact.
    const exact = "export const toCount = (tokens: Tokens): number => Number(tokens)"
    const lines = linesWith(inLayer(DOMAIN, APPLICATION, POSTGRES), words)
    expect(lines.filter((line) => !line.endsWith(exact))).toEqual([])
  })

  it("contain no HTTP statuses in domain, application and Postgres adapter", () => {
    const words = /HttpApiSchema|status: ?[1-5]\d\d\b|"x-[a-z-]+-billing"/
    expect(linesWith(inLayer(DOMAIN, APPLICATION, POSTGRES), words)).toEqual([])
  })
})

describe("the folders", () => {
  /** Returns the files of this repository that a file imports. */
  const importedBy = (path: string): ReadonlyArray<string> =>
    [...codeOf(path).matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].flatMap(([, specifier = ""]) => {
      const [, name, module] = /^@tollgate\/([a-z-]+)\/(.+)$/.exec(specifier) ?? []
      if (name !== undefined && module !== undefined) return [`packages/${name}/src/${module}.ts`]
      return specifier.startsWith(".") ? [relative(root, resolve(root, dirname(path), specifier))] : []
    })

  /** Returns the first circle of imports between folders, or `undefined` if there is none. */
  const circleIn = (edges: ReadonlyMap<string, ReadonlySet<string>>): ReadonlyArray<string> | undefined => {
    const done = new Set<string>()
    const visit = (folder: string, above: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
      if (above.includes(folder)) return [...above.slice(above.indexOf(folder)), folder]
      if (done.has(folder)) return undefined
      for (const next of edges.get(folder) ?? []) {
        const circle = visit(next, [...above, folder])
        if (circle !== undefined) return circle
      }
      done.add(folder)
      return undefined
    }
    for (const folder of edges.keys()) {
      const circle = visit(folder, [])
      if (circle !== undefined) return circle
    }
    return undefined
  }

  it("have no circular imports", () => {
    const edges = new Map<string, Set<string>>()
    for (const path of sources) {
      for (const target of importedBy(path)) {
        const [from, to] = [dirname(path), dirname(target)]
        if (from !== to) edges.set(from, (edges.get(from) ?? new Set()).add(to))
      }
    }
    expect(edges.size).toBeGreaterThan(50)
    expect(circleIn(edges)).toBeUndefined()
    expect(
      circleIn(
        new Map([
          ["a", new Set(["b"])],
          ["b", new Set(["a"])]
        ])
      )
    ).toEqual(["a", "b", "a"])
  })
})

describe("the source files", () => {
  it("have 30 lines or fewer in less than 12 % of cases", () => {
    const fragments = sources.filter((path) => read(path).trimEnd().split("\n").length <= 30)
    expect(fragments.length / sources.length).toBeLessThan(0.12)
  })

  it("have no generic names such as utils or helpers", () => {
    const banned = /(^|\/)(index|utils?|helpers?|common|misc|managers?|base|mappers?|types)\.ts$/i
    expect(sources.filter((path) => banned.test(path))).toEqual([])
  })

  it("begin with a comment", () => {
    expect(sources.filter((path) => !read(path).startsWith("/**"))).toEqual([])
  })

  it("have comments of at most 120 columns", () => {
    const tables = /^ *\* {4}/
    const wide = (line: string) => line.length > 120 && /^ *(\/\*|\*|\/\/)/.test(line) && !tables.test(line)
    const lines = sources.flatMap((path) =>
      read(path)
        .split("\n")
        .map((line, i) => ({ at: `${path}:${i + 1}`, line }))
    )
    expect(lines.filter(({ line }) => wide(line)).map(({ at }) => at)).toEqual([])
    expect(wide(`// ${"a".repeat(118)}`)).toBe(true)
  })

  it("have at most 299 lines", () => {
    const long = sources.filter((path) => read(path).trimEnd().split("\n").length > 299)
    expect(long).toEqual([])
  })

  it("import single modules instead of whole packages", () => {
    expect(linesWith(sources, /from "effect"|from "(\.\.\/)+(packages|apps)\/|from "@tollgate\/[a-z-]+"/)).toEqual([])
  })

  it("assign no function expression to a property", () => {
    const words = /[\w\])]\.#?\w+ (\?\?|\|\|)?= (async )?(function\b|(\([^()]*\)|\w+)(: [\w<>[\]| ]+)? =>)/
    const inServer = sources.filter((path) => !/^(apps\/(console|cli)|packages\/simulators)\//.test(path))
    // docs/adr/0016-short-lived-requests.md states why.
    expect(linesWith(inServer, words)).toEqual([])
    expect(words.test("this.#connection.onDisconnect = () => {")).toBe(true)
  })

  it("contain no TODO and no unimplemented code", () => {
    const words = /\b(TODO|FIXME|XXX|HACK)\b|not implemented/i
    expect(sources.filter((path) => words.test(read(path)))).toEqual([])
  })
})

describe("the errors", () => {
  const tagsIn = (path: string) =>
    [...read(path).matchAll(/TaggedError<\w+>\(\)\("(\w+)"/g)].map(([, tag]) => tag ?? "")
  const rowsIn = (path: string) =>
    [...read(path).matchAll(/^ {2}(\w+): \{\n {4}status: /gm)].map(([, tag]) => tag ?? "")

  it.each([
    [
      "inference",
      "inference/InferenceErrors.ts",
      "InferenceErrors.ts",
      ["InternalError", "InsufficientBalance", "KeyBudgetExceeded", "KeyRateLimited"]
    ],
    ["images", "images/ImageErrors.ts", "ImageErrors.ts", []]
  ])("of %s each have one row in the table of HTTP errors", (_, domain, wire, beside) => {
    const tags = tagsIn(`${DOMAIN}/${domain}`)
    const rows = rowsIn(`packages/adapters-http/src/wire/${wire}`)
    expect(tags.length).toBeGreaterThan(5)
    expect([...rows].sort()).toEqual([...tags, ...beside].sort())
  })

  it("have different tags", () => {
    const tags = inLayer("packages").flatMap(tagsIn)
    expect(tags.filter((tag, i) => tags.indexOf(tag) !== i)).toEqual([])
  })
})

/** Returns the anchors of a document: the ids of its rules, and the anchors that GitHub generates for its headings. */
const anchorsOf = (path: string): ReadonlySet<string> =>
  new Set([
    ...[...read(path).matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id ?? ""),
    ...[...read(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, "")
        .replaceAll(" ", "-")
    )
  ])

const REFERENCE = "docs/reference"
const references = documents.filter((path) => path.startsWith(`${REFERENCE}/`))

/** The files that people read: sources, tests, documents and scripts. */
const texts = [
  ...[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    ".dependency-cruiser.mjs",
    "Dockerfile",
    "compose.yaml"
  ],
  ...["packages", "apps", "test", "docs"]
    .flatMap(filesUnder)
    .filter((path) => /\.(tsx?|js|mjs|md|sh|html|css|json|yaml)$/.test(path))
]

describe("the documents", () => {
  it("link only to documents and anchors that exist", () => {
    const broken = documents.flatMap((path) =>
      [...read(path).matchAll(/\]\(([^)#\s]*)(?:#([^)\s]*))?\)/g)]
        .filter(([, target = ""]) => !/^[a-z]+:/.test(target))
        .filter(([, target = "", anchor]) => {
          const file = target === "" ? path : join(dirname(path), target)
          if (!existsSync(join(root, file))) return true
          return anchor !== undefined && file.endsWith(".md") && !anchorsOf(file).has(anchor)
        })
        .map(([link]) => `${path} -> ${link}`)
    )
    expect(broken).toEqual([])
  })

  it("name only files that exist", () => {
    const named = documents.flatMap((path) =>
      [...read(path).matchAll(/`((?:packages|apps|test|docs)\/[\w./-]+\.\w+)`/g)].map(([, file]) => ({
        path,
        file: file ?? ""
      }))
    )
    const dead = named.filter(({ file }) => !existsSync(join(root, file)))
    expect(dead.map(({ path, file }) => `${path} -> ${file}`)).toEqual([])
  })

  it("list the features in a table that matches the folders", () => {
    const layers = ["domain", "application", "adapters-http", "adapters-postgres", "adapters-upstream"]
    const rows = [...read("ARCHITECTURE.md").matchAll(/^\| ([a-z]+) \|((?:[^|\n]*\|){5})$/gm)]
    const wrong = rows.flatMap(([, feature = "", cells = ""]) =>
      cells
        .split("|")
        .slice(0, layers.length)
        .map((cell, i) => ({ folder: `packages/${layers[i]}/src/${feature}`, cell: cell.trim() }))
        // A cell is empty, begins with an x, or names another folder that contains the feature.
        .filter(({ cell }) => cell === "" || cell.startsWith("x"))
        .filter(({ folder, cell }) => existsSync(join(root, folder)) !== cell.startsWith("x"))
    )
    expect(rows.map(([, feature]) => feature)).toEqual(
      expect.arrayContaining(readdirSync(join(root, APPLICATION)).filter((folder) => folder !== "background"))
    )
    expect(wrong).toEqual([])
  })

  it("name only tests that exist", () => {
    const claims = ["SECURITY.md", "docs/security/asvs.md", "packages/domain/README.md", ...references].flatMap(
      (path) =>
        [...read(path).matchAll(/`(test\/[\w./-]+\.test\.ts)`: "([^"]+)"/g)].map(([, file = "", sentence = ""]) => ({
          path,
          file,
          sentence
        }))
    )
    expect(claims.length).toBeGreaterThan(200)
    const untrue = claims.filter(
      ({ file, sentence }) => !existsSync(join(root, file)) || !read(file).includes(sentence)
    )
    expect(untrue).toEqual([])
  })

  it("give each rule of the reference a unique id and a test", () => {
    const rules = references.flatMap((path) =>
      read(path)
        .split(/^(?=- <a id=)/m)
        .filter((rule) => rule.startsWith("- <a id="))
        .map((rule) => ({
          rule: rule.slice(0, 60),
          id: /id="([^"]+)"/.exec(rule)?.[1],
          held: /^ {2}Test: `/m.test(rule)
        }))
    )
    expect(rules.length).toBeGreaterThan(150)
    expect(rules.filter(({ held }) => !held)).toEqual([])
    expect(rules.filter(({ id }, i) => rules.findIndex((other) => other.id === id) !== i)).toEqual([])
  })

  it("are referred to by existing anchors and decision numbers", () => {
    const decisions = new Set(filesUnder("docs/adr").map((path) => path.slice("docs/adr/".length).slice(0, 4)))
    const dead = texts.flatMap((path) => [
      ...[...read(path).matchAll(/docs\/(reference\/[\w-]+\.md)(?:#([\w-]+))?/g)]
        .filter(([, page = "", anchor]) => {
          const file = join("docs", page)
          return !existsSync(join(root, file)) || (anchor !== undefined && !anchorsOf(file).has(anchor))
        })
        .map(([reference]) => `${path}: ${reference}`),
      ...[...read(path).matchAll(/\(ADR (\d+)\)/g)]
        .filter(([, number = ""]) => !decisions.has(number))
        .map(([reference]) => `${path}: ${reference}`)
    ])
    expect(dead).toEqual([])
  })

  it("are not referred to as a spec or a gap", () => {
    const earlier = /\(spec: |\bgaps? [A-HX]\d|\bgap list\b|spec-gaps/
    const own = "test/architecture.test.ts"
    const found = texts
      .filter((path) => path !== own && path !== "CHANGELOG.md")
      .filter((path) => earlier.test(read(path)))
    expect(found).toEqual([])
  })
})

describe("the texts", () => {
  it("name the fields of log entries in snake_case", () => {
    const camelCase = /(annotateLogs|log(Debug|Info|Warning|Error))\(.*\{ (\w+: [\w.]+, )*[a-z]+[A-Z]\w*(:|,| \})/
    expect(linesWith([...inLayer("packages"), ...inLayer("apps")], camelCase)).toEqual([])
  })

  it("contain none of the forbidden words", () => {
    // The character classes keep this line from matching the pattern, because this file is checked too.
    const forbidden = /(?:some|no)[b]ody|who(?:m)?[e]ver|[s]upplier/i
    const rootFiles = readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== "package-lock.json")
      .map((entry) => entry.name)
    const found = [...new Set([...texts, ...sources, ...rootFiles])].flatMap((path) =>
      read(path)
        .split("\n")
        .flatMap((line, i) => (forbidden.test(line) ? [`${path}:${i + 1} ${line.trim()}`] : []))
    )
    expect(found).toEqual([])
  })
})
