import { userInfo } from "node:os"
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { AN_ID, audited, layer as commandLine, documentOf, tollgate } from "../CommandLine.ts"
import { aCatalogFile, aFile, aModel, provider } from "./CatalogFiles.ts"

const tier = { tier_usd_cents: 500, granted_tokens: 2000000 }

describe("tollgate catalog", () => {
  layer(commandLine, { excludeTestServices: true })((it) => {
    it.effect("applies a catalog file and reports the changes", () =>
      Effect.gen(function* () {
        const empty = yield* tollgate("catalog", "show")
        expect(empty.stdout).toContain("The catalog is empty.")
        const first = yield* tollgate("catalog", "apply", aCatalogFile([aModel("a"), aModel("b")]), "--json")
        expect(first).toMatchObject({ code: 0, stderr: "" })
        expect(documentOf(first)).toEqual({
          version: 1,
          added: expect.arrayContaining(["a", "b"]),
          changed: [],
          retired: []
        })
        const file = aCatalogFile([aModel("a", { tiers: [tier] }), aModel("c")])
        const second = yield* tollgate("catalog", "apply", file, "--reason", "new models")
        expect(second.stdout).toMatch(/^The catalog is now at version 2\./)
        for (const line of ["  added    c", "  changed  a", "  retired  b"]) expect(second.stdout).toContain(line)
        const third = yield* tollgate("catalog", "apply", file)
        expect(third.stdout).toBe("No change; the catalog stays at version 2.\n")
        expect(yield* audited).toMatchObject([
          { actor: userInfo().username, action: "catalog.apply", reason: "cli: catalog apply" },
          { actor: userInfo().username, action: "catalog.apply", reason: "new models" }
        ])
      })
    )

    it.effect("shows the catalog in the format of a catalog file", () =>
      Effect.gen(function* () {
        yield* tollgate("catalog", "apply", aCatalogFile([aModel("a", { tiers: [tier] }), aModel("gone")]))
        yield* tollgate("catalog", "apply", aCatalogFile([aModel("a", { tiers: [tier] })]))
        const shown = documentOf(yield* tollgate("catalog", "show", "--json")) as { models: ReadonlyArray<object> }
        expect(shown).toMatchObject({ version: expect.any(Number), providers: [provider] })
        expect(shown.models).toContainEqual({
          model_id: AN_ID,
          ...aModel("a"),
          kind: "text",
          discovery_rank: 0,
          hidden: false,
          retired: false,
          capabilities: [],
          routes: [{ provider: "openai", upstream_model: "a", priority: 1, weight: 1 }],
          tiers: [{ plan_tier_id: AN_ID, ...tier, for_sale: true }]
        })
        expect(shown.models).toContainEqual(expect.objectContaining({ public_name: "gone", retired: true }))
        const { stdout } = yield* tollgate("catalog", "show")
        expect(stdout).toMatch(/^a +A +OpenAI +text +0 +- +listed$/m)
        expect(stdout).toMatch(/^gone +GONE +OpenAI +text +0 +- +retired$/m)
        expect(stdout).toMatch(/^a +0\.250000 +0\.025000 +0\.312500 +2\.000000$/m)
        expect(stdout).toMatch(/^a +5\.00 +2000000 +yes +[0-9a-f-]{36}$/m)
        expect(stdout).toMatch(
          /^openai +https:\/\/api\.openai\.com\/v1 +bearer from TOLLGATE_TEST_OPENAI_KEY +chat responses +512$/m
        )
      })
    )

    it.effect("retires a model with `retired: true`", () =>
      Effect.gen(function* () {
        const applied = (b: object, ...more: ReadonlyArray<string>) =>
          Effect.map(
            tollgate("catalog", "apply", aCatalogFile([aModel("a"), aModel("b", b)]), "--json", ...more),
            documentOf
          )
        const stateOfB = Effect.map(
          tollgate("catalog", "show"),
          ({ stdout }) => /^b .* (listed|retired)$/m.exec(stdout)?.[1]
        )
        yield* applied({})
        expect(yield* stateOfB).toBe("listed")
        expect(yield* applied({ retired: true }, "--dry-run")).toMatchObject({ added: [], changed: [], retired: ["b"] })
        expect(yield* applied({ retired: true })).toMatchObject({ added: [], changed: [], retired: ["b"] })
        expect(yield* stateOfB).toBe("retired")
        expect(yield* applied({ retired: true })).toMatchObject({ added: [], changed: [], retired: [] })
        expect(yield* applied({ retired: false })).toMatchObject({ added: ["b"], changed: [], retired: [] })
        expect(yield* stateOfB).toBe("listed")
      })
    )

    it.effect("applies and shows the hosted tools of a model", () =>
      Effect.gen(function* () {
        yield* tollgate("catalog", "apply", aCatalogFile([aModel("a", { hosted_tools: ["web_search"] }), aModel("b")]))
        const shown = documentOf(yield* tollgate("catalog", "show", "--json")) as { models: ReadonlyArray<object> }
        expect(shown.models).toContainEqual(expect.objectContaining({ public_name: "a", hosted_tools: ["web_search"] }))
        const without = shown.models.find((model) => "public_name" in model && model.public_name === "b")
        expect(without).not.toHaveProperty("hosted_tools")
      })
    )

    it.effect("applies and shows the largest output of a model", () =>
      Effect.gen(function* () {
        yield* tollgate("catalog", "apply", aCatalogFile([aModel("a"), aModel("b")]))
        const limited = aCatalogFile([aModel("a", { max_output_tokens: 32_768 }), aModel("b")])
        expect((yield* tollgate("catalog", "apply", limited)).stdout).toContain("  changed  a")
        const shown = documentOf(yield* tollgate("catalog", "show", "--json")) as { models: ReadonlyArray<object> }
        expect(shown.models).toContainEqual(expect.objectContaining({ public_name: "a", max_output_tokens: 32_768 }))
        const unlimited = shown.models.find((model) => "public_name" in model && model.public_name === "b")
        expect(unlimited).not.toHaveProperty("max_output_tokens")
        const { stdout } = yield* tollgate("catalog", "show")
        expect(stdout).toMatch(/^a +A +OpenAI +text +0 +32768 +listed$/m)
      })
    )

    it.effect("refuses an invalid file with the position of its error", () =>
      Effect.gen(function* () {
        const before = yield* tollgate("catalog", "show", "--json")
        const broken = aFile('{\n  "providers": [],\n  "models": [1,]\n}')
        const unreadable = yield* tollgate("catalog", "apply", broken)
        expect(unreadable).toMatchObject({ code: 3, stdout: "" })
        expect(unreadable.stderr).toContain(`${broken}:3:16: a value is missing here`)
        const twice = yield* tollgate("catalog", "apply", aFile('{"providers": [], "models": [], "models": []}'))
        expect(twice.stderr).toContain(':1:33: the member "models" occurs twice')
        const contrary = yield* tollgate(
          "catalog",
          "apply",
          aCatalogFile([aModel("a", { routes: [{ provider: "x", upstream_model: "y" }], color: "red" })]),
          "--json"
        )
        expect(contrary.code).toBe(3)
        expect(documentOf(contrary)).toMatchObject({
          error: { code: "catalog_file_invalid", message: expect.stringContaining("models.0.color") }
        })
        const large = yield* tollgate("catalog", "apply", aFile(" ".repeat(4 * 1024 * 1024 + 1)))
        expect(large).toMatchObject({ code: 3, stderr: expect.stringContaining("is larger than 4 MiB") })
        expect(yield* tollgate("catalog", "apply", "/nowhere/catalog.json")).toMatchObject({ code: 2 })
        expect(yield* tollgate("catalog", "apply")).toMatchObject({ code: 2 })
        expect((yield* tollgate("catalog", "show", "--json")).stdout).toBe(before.stdout)
      })
    )
  })
})
