/**
 * Tests the reading of the catalog file that a server applies at its start.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Catalogs, CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { applyCatalogFile } from "@tollgate/composition/CatalogAtStart"
import { Effect, Either } from "effect"
import { afterAll, describe, expect, it } from "vitest"

const directory = mkdtempSync(join(tmpdir(), "catalog-"))
afterAll(() => rmSync(directory, { recursive: true }))

/** Returns the catalogs that a start with this file applies, or the error of the start. */
const applied = async (text: string) => {
  const path = join(directory, "catalog.json")
  writeFileSync(path, text)
  const change = { version: 1, added: [], changed: [], retired: [], members: [] }
  const catalogs: Array<unknown> = []
  const apply = (terms: unknown) =>
    Effect.sync(() => {
      catalogs.push(terms)
      return change
    })
  const started = await applyCatalogFile(path).pipe(
    Effect.provideService(Catalogs, { apply } as unknown as typeof Catalogs.Service),
    Effect.provideService(CurrentCatalog, { get: () => change } as unknown as typeof CurrentCatalog.Service),
    Effect.either,
    Effect.runPromise
  )
  return Either.match(started, {
    onLeft: ({ message }) => message.replace(path, "FILE"),
    onRight: () => catalogs
  })
}

describe("a catalog file at start", () => {
  it("is refused if a member occurs twice", async () => {
    expect(await applied('{"providers": [], "models": [],\n "models": []}')).toBe(
      'CATALOG_FILE FILE:2:2: the member "models" occurs twice in this object'
    )
  })

  it("is refused if it is larger than 4 MiB", async () => {
    expect(await applied(`{"providers": [], "models": []}${" ".repeat(4 * 1024 * 1024)}`)).toBe(
      "CATALOG_FILE FILE is larger than 4 MiB"
    )
  })

  it("can begin with a byte order mark", async () => {
    expect(await applied('\uFEFF{"providers": [], "models": []}')).toEqual([{ providers: [], models: [] }])
  })
})
