/**
 * Writes catalog files and price files for the tests of CLI commands.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { cleanUpAfterFile } from "../../support/Leftovers.ts"

/** Writes a file that is deleted after the tests. */
export const aFile = (text: string): string => {
  const directory = mkdtempSync(join(tmpdir(), "tollgate-catalog-"))
  cleanUpAfterFile(() => rmSync(directory, { recursive: true }))
  const path = join(directory, "catalog.json")
  writeFileSync(path, text)
  return path
}

export const provider = {
  name: "openai",
  base_url: "https://api.openai.com/v1",
  api_key_env: "TOLLGATE_TEST_OPENAI_KEY",
  protocols: ["chat", "responses"]
}

export const aModel = (public_name: string, more: object = {}) => ({
  public_name,
  display_name: public_name.toUpperCase(),
  author: "OpenAI",
  price_usd_micro_per_million_tokens: { input: 250000, cache_read: 25000, cache_write: 312500, output: 2000000 },
  routes: [{ provider: "openai", upstream_model: public_name }],
  ...more
})

export const aCatalogFile = (models: ReadonlyArray<object> = [aModel("gpt-5-mini")]): string =>
  aFile(JSON.stringify({ providers: [provider], models }))
