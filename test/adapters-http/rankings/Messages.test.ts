import { readdirSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import { describe, expect, it } from "vitest"

const folder = resolve(import.meta.dirname, "../../../packages/adapters-http/assets/rankings")
const read = (name: string): string => readFileSync(resolve(folder, name), "utf8")
const textsOf = (language: string) => JSON.parse(read(`messages/${language}.json`)) as Readonly<Record<string, string>>
const [english, indonesian] = [textsOf("en"), textsOf("id")]
const scripts = readdirSync(folder)
  .filter((name) => name.endsWith(".js"))
  .map((name) => read(name).replace(/\/\*[\s\S]*?\*\//g, ""))

describe("the texts of the rankings page", () => {
  it("have the same placeholders in English and in Indonesian", () => {
    expect(Object.keys(indonesian)).toEqual(Object.keys(english))
    const placesIn = (text = "") => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).sort()
    for (const [key, text] of Object.entries(english)) {
      expect([text, indonesian[key]], key).not.toContain("")
      expect(placesIn(indonesian[key]), key).toEqual(placesIn(text))
    }
  })

  it("are all used", () => {
    const used = new Set(
      [
        ...[...scripts.join("\n").matchAll(/text\(\s*["`]([^"`]+)["`]/g)],
        ...read("index.html").matchAll(/\{\{([\w.]+)\}\}/g)
      ].map(([, key = ""]) => key)
    )
    const patterns = [...used].map(
      (key) => new RegExp(`^${key.replaceAll(".", "\\.").replace(/\$\{[^}]+\}/g, "\\w+")}$`)
    )
    const lacking = patterns.filter((pattern) => !Object.keys(english).some((key) => pattern.test(key)))
    // The page has two placeholders that are not texts.
    expect(lacking.map(String).sort()).toEqual(["/^messages$/", "/^service$/"])
    expect(Object.keys(english).filter((key) => !patterns.some((pattern) => pattern.test(key)))).toEqual([])
  })

  it("are not written in the page, except the names of the languages, and no script has a quoted sentence", () => {
    const markup = read("index.html")
      .replace(/<!--[\s\S]*?-->|&nbsp;/g, "")
      .replace(/\{\{[\w.]+\}\}/g, "")
    const shown = [...markup.matchAll(/>([^<]*)</g), ...markup.matchAll(/(?:aria-label|title|content)="([^"]*)"/g)]
    const words = shown.map(([, text = ""]) => text.trim()).filter((text) => /[A-Za-z]{2}/.test(text))
    expect(words).toEqual([
      "Bahasa Indonesia",
      "English",
      "/api/rankings",
      "width=device-width, initial-scale=1",
      "light dark"
    ])
    const sentences = scripts.flatMap((script) =>
      [...script.matchAll(/"([A-Z][a-z]+ [^"]*)"/g)].map(([, text]) => text)
    )
    expect(sentences).toEqual([])
  })
})

describe("a column of the chart", async () => {
  const feed: string = resolve(folder, "feed.js")
  const { isCut } = (await import(feed)) as { readonly isCut: (point: object, range: object) => boolean }
  const range = { from: "2026-11-13T09:30:00.000Z", data_since: "2026-08-22" }

  it("is cut if it begins before the window", () => {
    expect(isCut({ start: "2026-11-12T17:00:00.000Z", partial: true }, range)).toBe(true)
    expect(isCut({ start: "2026-11-13T17:00:00.000Z", partial: false }, range)).toBe(false)
  })

  it("is not cut if it is the current column", () => {
    expect(isCut({ start: "2026-11-19T17:00:00.000Z", partial: true }, range)).toBe(false)
  })

  it.each(["2026-11-20", null])("is not cut if no usage precedes the window and the first usage is at %s", (since) => {
    const first = { start: "2026-11-12T17:00:00.000Z", partial: true }
    expect(isCut(first, { ...range, data_since: since })).toBe(false)
  })
})
