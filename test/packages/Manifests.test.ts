/**
 * Checks each manifest (package.json).
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import ts from "typescript"
import { describe, expect, it } from "vitest"
import { TESTED_NODES } from "../nodes/TestedNodes.ts"

const ROOT = resolve(import.meta.dirname, "../..")

interface Manifest {
  readonly name: string
  readonly version: string
  readonly engines: { readonly node: string }
  readonly bin?: Readonly<Record<string, string>> | string
  readonly scripts?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, unknown>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

const manifestOf = (folder: string): Manifest => JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8"))

const listedBy = ({ dependencies, devDependencies, optionalDependencies }: Manifest) => ({
  ...dependencies,
  ...optionalDependencies,
  ...devDependencies
})

const sourcesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && /\.(tsx?|mjs)$/.test(entry.name) && !/\/(node_modules|dist)\b/.test(entry.parentPath)
    )
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))

/** Returns the package name in an import: `effect` for `effect/Effect`, `@effect/sql` for `@effect/sql/SqlClient`. */
const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")

const importedBy = (sources: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(
    sources
      .flatMap((text) => ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName))
      .filter((specifier) => !/^(\.|node:)/.test(specifier))
      .map(packageOf)
  )

/**
 * Searches the sources for the name of a library, because some imports have a computed name, and the server sends some
 * files of libraries by their paths.
 */
const isUsedBy = (sources: ReadonlyArray<string>, library: string): boolean => {
  const scope = packageOf(library).split("/")[0]
  const names = [`"${library}"`, `"${library}/`, `\`${library}-\${`, `\`${scope}/\${`]
  return sources.some((text) => names.some((name) => text.includes(name)))
}

/** Returns the imported libraries that the manifest does not list, and the listed libraries that no source uses. */
const differences = (manifest: Manifest, sources: ReadonlyArray<string>) => {
  const listed = Object.keys(listedBy(manifest))
  return {
    missing: [...importedBy(sources)].filter((library) => library !== manifest.name && !listed.includes(library)),
    unused: listed.filter((library) => !isUsedBy(sources, library))
  }
}

const workspaces = ["packages", "apps"].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .map((name) => `${folder}/${name}`)
    .filter((path) => existsSync(join(ROOT, path, "package.json")))
)
const examples = readdirSync(join(ROOT, "examples")).map((name) => `examples/${name}`)

describe("the manifest of", () => {
  it.each(workspaces)("%s lists exactly the libraries that its sources use", (folder) => {
    // The console also needs the libraries of its build.
    const sources = sourcesIn(folder === "apps/console" ? folder : `${folder}/src`)
    expect(differences(manifestOf(folder), sources)).toEqual({ missing: [], unused: [] })
  })

  it.each(examples)("%s lists the libraries that its sources use", (folder) => {
    const { missing, unused } = differences(manifestOf(folder), sourcesIn(`${folder}/src`))
    expect(missing).toEqual([])
    expect(unused.filter((library) => library !== "typescript" && !library.startsWith("@types/"))).toEqual(
      // An example can list effect without importing it, so that npm installs only one copy for it and the domain.
      unused.includes("effect") ? ["effect"] : []
    )
  })

  it("the repository lists the libraries of the tests and tools", () => {
    const root = manifestOf(".")
    const { missing, unused } = differences(root, [...sourcesIn("test"), ...sourcesIn("tools")])
    const scripts = Object.values(root.scripts ?? {}).join(" ")
    const isTool = (library: string): boolean => {
      const { bin = {} } = manifestOf(`node_modules/${library}`)
      const commands = typeof bin === "string" ? [packageOf(library)] : Object.keys(bin)
      return commands.some((command) => new RegExp(`\\b${command}\\b`).test(scripts))
    }
    // A peer dependency of another library must be listed, even if no test imports it.
    const peers = new Set(
      Object.keys(listedBy(root)).flatMap((library) =>
        Object.keys(manifestOf(`node_modules/${library}`).peerDependencies ?? {})
      )
    )
    const isNeeded = (library: string): boolean =>
      library.startsWith("@types/") || isTool(library) || peers.has(library)
    expect(missing.filter((library) => !library.startsWith("@tollgate/"))).toEqual([])
    expect(unused.filter((library) => !isNeeded(library))).toEqual([])
  })

  it("a package with an unlisted import is reported as different", () => {
    const domain = manifestOf("packages/domain")
    const sources = sourcesIn("packages/domain/src")
    const planted = { ...domain, dependencies: { ...domain.dependencies, uqr: "0.1.3" } }
    expect(differences(domain, [...sources, 'import { encode } from "uqr"'])).toEqual({ missing: ["uqr"], unused: [] })
    expect(differences(domain, [...sources, 'await import("pg")'])).toEqual({ missing: ["pg"], unused: [] })
    expect(differences(planted, sources)).toEqual({ missing: [], unused: ["uqr"] })
  })

  it("each package lists the same exact versions", () => {
    const listed = [".", ...workspaces, ...examples].flatMap((folder) => Object.entries(listedBy(manifestOf(folder))))
    expect(listed.filter(([, version]) => !/^(npm:@?[\w/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
    // The examples compile with TypeScript 5, which embedding projects can use; our own code compiles with TypeScript 7.
    const shared = listed.filter(([library]) => library !== "typescript")
    const versions = new Map(shared)
    expect(shared.filter(([library, version]) => versions.get(library) !== version)).toEqual([])
    expect(workspaces.map((folder) => manifestOf(folder).version)).toEqual(
      workspaces.map(() => manifestOf(".").version)
    )
  })

  it("each package accepts the tested major versions of Node.js", () => {
    const tested = TESTED_NODES.map((version) => Number.parseInt(version, 10))
    for (const folder of [".", ...workspaces, ...examples]) {
      const accepted = manifestOf(folder).engines.node.split(" || ")
      expect(
        accepted.map((range) => Number(/^\^(\d+)\.\d+\.\d+$/.exec(range)?.[1])),
        folder
      ).toEqual(tested)
    }
    const images = [...readFileSync(join(ROOT, "Dockerfile"), "utf8").matchAll(/^FROM node:(\d+)-/gm)]
    expect(images.length).toBeGreaterThan(0)
    for (const [, major] of images) expect(tested).toContain(Number(major))
  })

  it("each package exports its compiled outputs to other projects", () => {
    const modules = { source: "./src/*.ts", types: "./dist/*.d.ts", default: "./dist/*.js" }
    for (const folder of workspaces.filter((path) => path.startsWith("packages/"))) {
      expect(manifestOf(folder).exports, folder).toMatchObject({ "./*": modules, "./package.json": "./package.json" })
    }
  })
})
