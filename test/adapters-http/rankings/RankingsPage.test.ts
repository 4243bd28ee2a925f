import { readdirSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import { paths } from "@tollgate/adapters-http/rankings/RankingsPage"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { catalogOf, closeGateways, startGateway, type TestGateway } from "../inference/relay/TestGateway.ts"

const folder = resolve(import.meta.dirname, "../../../packages/adapters-http/assets/rankings")
// The messages are part of the page, and are not served as files.
const files = readdirSync(folder).filter((name) => name !== "messages")

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway({ catalog: catalogOf({}) })
})
afterAll(async () => {
  await closeGateways()
})

const get = (path: string, headers: Record<string, string> = {}) => fetch(`${gateway.url}${path}`, { headers })

describe("the files of the rankings page", () => {
  it("are all served", () => {
    const served = files.map((name) => (name === "index.html" ? "/rankings" : `/rankings/${name}`))
    expect([...paths].sort()).toEqual([...served, "/rankings/uplot.css", "/rankings/uplot.js"].sort())
  })

  it.each(paths)("include %s with its content type", async (path) => {
    const response = await get(path)
    expect(response.status).toBe(200)
    const type = path === "/rankings" ? "text/html" : path.endsWith(".css") ? "text/css" : undefined
    expect(response.headers.get("content-type")).toMatch(type ?? /^(text\/javascript; charset=utf-8|image\/svg\+xml)$/)
    expect(response.headers.get("x-content-type-options")).toBe("nosniff")
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'")
    expect(response.headers.get("cache-control")).toBe("no-cache")
    expect(await response.text()).not.toContain("{{service}}")
    const again = await get(path, { "if-none-match": response.headers.get("etag") ?? "" })
    expect(again.status).toBe(304)
  })

  it("refer to no other host", () => {
    for (const name of files) {
      const text = readFileSync(resolve(folder, name), "utf8").replaceAll('"http://www.w3.org/2000/svg"', "")
      expect(text, name).not.toMatch(/\b(https?:)?\/\/[a-z0-9-]+\.[a-z]/i)
    }
  })

  it("include the page at a path with a trailing slash", async () => {
    expect((await get("/rankings/")).status).toBe(200)
  })

  it("are refused with 405 for POST", async () => {
    const posted = await fetch(`${gateway.url}/rankings`, { method: "POST" })
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"])
  })

  it.each(["/rankings/index.html", "/rankings/%2e%2e%2fpackage.json", "/rankings/tsconfig.json"])(
    "do not include %s",
    async (path) => {
      expect((await get(path)).status).toBe(404)
    }
  )

  it("include the page if the rankings are not published", async () => {
    expect((await get("/api/rankings")).status).toBe(404)
    expect((await get("/rankings")).status).toBe(200)
  })
})
