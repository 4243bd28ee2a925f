import { PicoPerToken } from "@tollgate/domain/ledger/Price"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { aModel, catalogOf, closeGateways, startGateway } from "../inference/relay/TestGateway.ts"

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
const MARKUP = `<img src=x onerror="alert(1)">`

const catalog = catalogOf({})
const price = {
  input: PicoPerToken(250_000n),
  cacheWrite: PicoPerToken(250_000n),
  cacheRead: PicoPerToken(25_000n),
  output: PicoPerToken(2_000_000n)
}
const model = aModel({ ...catalog.models.get("m"), displayName: MARKUP, price })

let url: string
let withoutPrices: string

beforeAll(async () => {
  const priced = { ...catalog, models: new Map([["m", model]]) }
  url = (await startGateway({ catalog: priced, publicPrices: true })).url
  withoutPrices = (await startGateway({ catalog: priced })).url
})
afterAll(closeGateways)

const visit = (address: string, language = "en-US,en;q=0.9") =>
  fetch(address, { headers: { accept: BROWSER, "accept-language": language } })

describe("a browser", () => {
  it("gets a page at / in the preferred language", async () => {
    const english = await visit(url)
    expect(english.headers.get("content-type")).toBe("text/html; charset=utf-8")
    expect(english.headers.get("vary")).toContain("accept-language")
    expect(english.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'self'; img-src 'self'/
    )
    const page = await english.text()
    expect(page).toContain(`<html lang="en">`)
    expect(page).toContain(`href="/console/signup"`)
    expect(page).not.toMatch(/<script|<style|style=/)
    expect(await (await visit(url, "id-ID,id;q=0.9,en;q=0.8")).text()).toContain(`<html lang="id">`)
    expect(await (await visit(url, "fr")).text()).toContain(`<html lang="id">`)
    expect(await (await visit(`${url}/?lang=en`, "id")).text()).toContain(`<html lang="en">`)
  })

  it("gets models and prices only if the operator publishes them", async () => {
    const page = await (await visit(url)).text()
    expect(page).toContain("<code>m</code>")
    for (const amount of ["$0.25", "$0.025", "$2.00"]) expect(page).toContain(amount)
    expect(await (await visit(url, "id")).text()).toContain("$0,025")
    expect(await (await visit(withoutPrices)).text()).not.toContain("<code>m</code>")
  })

  it("gets the markup in the name of a model as text", async () => {
    const page = await (await visit(url)).text()
    expect(page).not.toContain("<img")
    expect(page).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;")
  })

  it("gets a page with a request id for a wrong address", async () => {
    const response = await visit(`${url}/nowhere`)
    expect(response.status).toBe(404)
    const page = await response.text()
    expect(page).toContain("There is no such page")
    expect(page).toContain(response.headers.get("x-request-id") ?? "none")
  })

  it("gets a page without the markup of a wrong address", async () => {
    const response = await visit(`${url}/${encodeURIComponent(MARKUP)}?lang=<b>`)
    expect(response.status).toBe(404)
    const page = await response.text()
    expect(page).toContain("There is no such page")
    expect(page).not.toMatch(/<img|<b>/)
  })

  it("gets the style sheets of the page at /", async () => {
    const sheets = [...(await (await visit(url)).text()).matchAll(/rel="stylesheet" href="([^"]+)"/g)]
    expect(sheets).toHaveLength(2)
    for (const [, href = ""] of sheets) {
      const sheet = await fetch(url + href)
      expect(sheet.headers.get("content-type")).toBe("text/css; charset=utf-8")
    }
  })
})

describe("a program", () => {
  it("gets JSON at / and for errors", async () => {
    for (const accept of ["*/*", "application/json", "application/json, text/html;q=0.5"]) {
      const links = await fetch(url, { headers: { accept } })
      expect(await links.json()).toEqual({ docs: "/docs", openapi: "/openapi.json" })
      const unknown = await fetch(`${url}/nowhere`, { headers: { accept } })
      expect(unknown.status).toBe(404)
      expect(await unknown.json()).toMatchObject({ error: { code: "not_found" } })
    }
    const posted = await fetch(`${url}/nowhere`, { method: "POST", headers: { accept: BROWSER } })
    expect(posted.headers.get("content-type")).toBe("application/json")
  })
})
