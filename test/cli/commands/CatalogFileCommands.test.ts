import { existsSync, lstatSync, readdirSync, readFileSync, symlinkSync } from "node:fs"
import Fs from "node:fs/promises"
import { syncBuiltinESMExports } from "node:module"
import { dirname, join } from "node:path"
import { describe, expect, layer } from "@effect/vitest"
import { parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import { Effect, Either } from "effect"
import { it as pure, vi } from "vitest"
import { STARTERS, starterCatalog } from "../../../apps/cli/src/commands/CatalogStarters.ts"
import { layer as commandLine, documentOf, tollgate } from "../CommandLine.ts"
import { aCatalogFile, aFile, aModel } from "./CatalogFiles.ts"

const pricesOf = (models: object, provider = "openai") => aFile(JSON.stringify({ [provider]: { models } }))
const contentsOf = (path: string) => JSON.parse(readFileSync(path, "utf8"))

describe("a starter catalog", () => {
  pure.each(STARTERS)("for %s is a valid catalog file", (name) => {
    expect(Either.isRight(parseCatalogFile(starterCatalog([name])))).toBe(true)
  })

  pure("for all providers together is a valid catalog file", () => {
    expect(Either.isRight(parseCatalogFile(starterCatalog(STARTERS)))).toBe(true)
  })
})

pure("the example in docs/catalog.md is a valid catalog file", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/catalog.md"), "utf8")
  const [, example = ""] = /```json\n(.*?)```/s.exec(page) ?? []
  expect(Either.isRight(parseCatalogFile(JSON.parse(example)))).toBe(true)
})

describe("tollgate catalog", () => {
  layer(commandLine, { excludeTestServices: true })((it) => {
    it.effect("init writes a starter that can be applied", () =>
      Effect.gen(function* () {
        const path = join(dirname(aFile("")), "starter.json")
        const written = yield* tollgate("catalog", "init", path, "--for", "openai,local")
        expect(written).toMatchObject({ code: 0, stderr: "" })
        expect(written.stdout).toContain("OPENAI_API_KEY")
        const applied = yield* tollgate("catalog", "apply", path, "--json")
        expect(documentOf(applied)).toMatchObject({ added: expect.arrayContaining(["gpt-5-mini", "provider local"]) })
        const before = readFileSync(path, "utf8")
        expect(yield* tollgate("catalog", "init", path, "--for", "anthropic")).toMatchObject({
          code: 3,
          stderr: expect.stringContaining("exists already")
        })
        expect(readFileSync(path, "utf8")).toBe(before)
        expect(yield* tollgate("catalog", "init", path, "--for", "nonsense")).toMatchObject({ code: 2 })
      })
    )

    it.effect("show --json prints a file whose application changes nothing", () =>
      Effect.gen(function* () {
        const remote = {
          name: "remote",
          base_url: "http://10.0.0.1/v1",
          api_key_env: "REMOTE_KEY",
          protocols: ["chat"]
        }
        const file = (models: ReadonlyArray<object>) =>
          aFile(JSON.stringify({ providers: [{ ...remote, allow_http: true }], models }))
        const model = (name: string) => aModel(name, { routes: [{ provider: "remote", upstream_model: name }] })
        const tiers = [{ tier_usd_cents: 500, granted_tokens: 2_000_000, for_sale: false }]
        yield* tollgate("catalog", "apply", file([model("gone"), { ...model("kept"), tiers }]))
        yield* tollgate("catalog", "apply", file([{ ...model("kept"), tiers }]))
        const shown = yield* tollgate("catalog", "show", "--json")
        const again = yield* tollgate("catalog", "apply", aFile(shown.stdout))
        expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^No change/) })
        expect((yield* tollgate("catalog", "show", "--json")).stdout).toBe(shown.stdout)
      })
    )

    it.effect("apply --dry-run shows each changed member", () =>
      Effect.gen(function* () {
        yield* tollgate("catalog", "apply", aCatalogFile([aModel("a"), aModel("b")]))
        const before = yield* tollgate("catalog", "show", "--json")
        const higherPrice = { input: 300_000, cache_read: 25_000, cache_write: 312_500, output: 2_000_000 }
        const file = aCatalogFile([
          aModel("a", { price_usd_micro_per_million_tokens: higherPrice, hidden: true }),
          aModel("c")
        ])
        const { code, stdout } = yield* tollgate("catalog", "apply", file, "--dry-run")
        expect(code).toBe(0)
        const lines = [
          "added    c",
          "changed  a",
          "price.input: 250000 -> 300000",
          "hidden: false -> true",
          "retired  b"
        ]
        for (const line of lines) expect(stdout).toContain(line)
        expect(stdout).not.toContain("price.output")
        const document = documentOf(yield* tollgate("catalog", "apply", file, "--dry-run", "--json"))
        expect((yield* tollgate("catalog", "show", "--json")).stdout).toBe(before.stdout)
        expect(document).toMatchObject({
          changed: ["a"],
          members: [
            { name: "a", member: "hidden", before: "false", after: "true" },
            { name: "a", member: "price.input", before: "250000", after: "300000" }
          ]
        })
      })
    )

    it.effect("import replaces the prices in a catalog file with a margin", () =>
      Effect.gen(function* () {
        const path = aCatalogFile([aModel("gpt-5-mini", { discovery_rank: 3 }), aModel("unlisted")])
        const before = contentsOf(path)
        const prices = pricesOf({
          "gpt-5-mini": { cost: { input: 0.3, cache_read: 0.03, output: 2.1 }, limit: { output: 9 } }
        })
        const shown = yield* tollgate("catalog", "import", prices, "--into", path, "--dry-run")
        expect(shown.stdout).toContain("price.input: 250000 -> 300000")
        expect(shown.stdout).toContain("not in the price file, and unchanged: unlisted")
        expect(contentsOf(path)).toEqual(before)
        const written = yield* tollgate("catalog", "import", prices, "--into", path, "--margin-percent", "10", "--yes")
        expect(written).toMatchObject({ code: 0, stderr: "" })
        // Cached tokens without a price in the list are as expensive as other input tokens.
        const price = { input: 330_000, cache_read: 33_000, cache_write: 330_000, output: 2_310_000 }
        const [changed, unchanged] = before.models
        expect(contentsOf(path)).toEqual({
          ...before,
          models: [{ ...changed, max_output_tokens: 9, price_usd_micro_per_million_tokens: price }, unchanged]
        })
        expect(readdirSync(dirname(path))).toEqual(["catalog.json"])
      })
    )

    it.effect("import keeps a symbolic link and replaces its target", () =>
      Effect.gen(function* () {
        const path = aCatalogFile([aModel("gpt-5-mini")])
        const link = join(dirname(aFile("")), "link.json")
        symlinkSync(path, link)
        const prices = pricesOf({ "gpt-5-mini": { cost: { input: 0.3, output: 2.1 } } })
        const written = yield* tollgate("catalog", "import", prices, "--into", link, "--yes")
        expect(written).toMatchObject({ code: 0, stderr: "" })
        expect(lstatSync(link).isSymbolicLink()).toBe(true)
        expect(contentsOf(path).models[0].price_usd_micro_per_million_tokens).toMatchObject({ input: 300_000 })
      })
    )

    it.effect("import reports a file that cannot be replaced, and leaves no draft", () =>
      Effect.gen(function* () {
        const path = aCatalogFile([aModel("gpt-5-mini")])
        const before = readFileSync(path, "utf8")
        const prices = pricesOf({ "gpt-5-mini": { cost: { input: 0.3, output: 2.1 } } })
        // A file that is mounted into a container cannot be replaced.
        const rename = vi.spyOn(Fs, "rename").mockRejectedValue(Object.assign(new Error("EBUSY"), { code: "EBUSY" }))
        syncBuiltinESMExports()
        const failed = yield* tollgate("catalog", "import", prices, "--into", path, "--yes", "--json")
        rename.mockRestore()
        syncBuiltinESMExports()
        expect(failed.code).toBe(1)
        expect(documentOf(failed)).toMatchObject({
          error: { code: "file_not_written", message: expect.stringContaining("EBUSY") }
        })
        expect(readdirSync(dirname(path))).toEqual(["catalog.json"])
        expect(readFileSync(path, "utf8")).toBe(before)
      })
    )

    it.effect("import finds a provider under the name in --as", () =>
      Effect.gen(function* () {
        const path = aCatalogFile([aModel("m")])
        const prices = pricesOf({ m: { cost: { input: 1, output: 1 } } }, "listed")
        const renamed = yield* tollgate(
          "catalog",
          "import",
          prices,
          "--into",
          path,
          "--as",
          "openai=listed",
          "--dry-run"
        )
        expect(renamed.stdout).toContain("price.input: 250000 -> 1000000")
      })
    )

    it.effect("import refuses invalid files and options, and writes no file", () =>
      Effect.gen(function* () {
        const path = aCatalogFile([aModel("m")])
        const before = readFileSync(path, "utf8")
        const prices = pricesOf({ m: { cost: { input: 1, output: 1 } } })
        for (const [args, code] of [
          [[aFile("[]"), "--into", path, "--yes"], 3],
          [[aFile("{"), "--into", path, "--yes"], 3],
          [[pricesOf({ m: { cost: { input: 1e9 } } }), "--into", path, "--yes"], 3],
          [[prices, "--into", aFile("{}"), "--yes"], 3],
          [[prices, "--into", "/nowhere.json", "--yes"], 2],
          [[prices, "--into", path, "--margin-percent", "-1", "--yes"], 2],
          [[prices, "--into", path, "--as", "openai", "--yes"], 2]
        ] as const) {
          expect([args, (yield* tollgate("catalog", "import", ...args)).code]).toEqual([args, code])
        }
        expect(readFileSync(path, "utf8")).toBe(before)
        expect(existsSync("/nowhere.json")).toBe(false)
      })
    )
  })
})
