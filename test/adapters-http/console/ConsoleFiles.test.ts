import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { catalogOf, closeGateways, startGateway } from "../inference/relay/TestGateway.ts"

const SCRIPT = "export const loaded = true\n".repeat(50)
const ASSET = "/console/assets/index-B9yWiUfg.js"
const folder = mkdtempSync(join(tmpdir(), "tollgate-console-files-"))

let url: string

beforeAll(async () => {
  mkdirSync(join(folder, "assets"))
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>{{service}}</title>")
  const path = join(folder, "assets/index-B9yWiUfg.js")
  writeFileSync(path, SCRIPT)
  writeFileSync(`${path}.br`, brotliCompressSync(SCRIPT))
  writeFileSync(`${path}.gz`, gzipSync(SCRIPT))
  url = (await startGateway({ catalog: catalogOf({}), consoleFolder: folder })).url
})
afterAll(async () => {
  await closeGateways()
  rmSync(folder, { recursive: true, force: true })
})

/** Returns the bytes as they were sent; `fetch` would decompress them. */
const sent = (path: string, accepted: string) =>
  new Promise<{ readonly coding: string | undefined; readonly body: Buffer }>((resolve, reject) => {
    request(url + path, { headers: { "accept-encoding": accepted } }, (response) => {
      const pieces: Array<Buffer> = []
      response.on("data", (piece: Buffer) => pieces.push(piece))
      response.on("end", () => resolve({ coding: response.headers["content-encoding"], body: Buffer.concat(pieces) }))
    })
      .on("error", reject)
      .end()
  })

describe("the gateway", () => {
  it("serves one page for different paths of the console", async () => {
    for (const path of ["/console", "/console/home", "/console/customers/019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11"]) {
      const response = await fetch(url + path)
      expect(response.status).toBe(200)
      expect(await response.text()).toBe("<!doctype html><title>tollgate</title>")
      expect(response.headers.get("cache-control")).toBe("no-cache")
      const again = await fetch(url + path, { headers: { "if-none-match": response.headers.get("etag") ?? "" } })
      expect(again.status).toBe(304)
    }
    expect((await fetch(`${url}/console`, { method: "POST" })).status).toBe(405)
  })

  it("forbids inline code and other hosts in the console", async () => {
    const policy = (await fetch(`${url}/console`)).headers.get("content-security-policy") ?? ""
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'/
    )
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(policy).not.toMatch(/unsafe|https?:|\*|data:/)
  })

  it("serves a hashed file with a cache time of one year", async () => {
    const response = await fetch(url + ASSET)
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable")
    expect(response.headers.get("content-type")).toBe("text/javascript; charset=utf-8")
  })

  it("serves a hashed file in the best coding that the client accepts", async () => {
    const [brotli, gzip, plain] = await Promise.all(
      ["gzip, br", "gzip, br;q=0", "identity"].map((each) => sent(ASSET, each))
    )
    expect([brotli?.coding, gzip?.coding, plain?.coding]).toEqual(["br", "gzip", undefined])
    expect(brotliDecompressSync(brotli?.body ?? "").toString()).toBe(SCRIPT)
    expect(gunzipSync(gzip?.body ?? "").toString()).toBe(SCRIPT)
    expect(plain?.body.toString()).toBe(SCRIPT)
  })

  it.each([
    ["an unknown file", "/console/assets/old-00000000.js"],
    ["a path outside the folder of the hashed files", "/console/assets/..%2Findex.html"],
    ["the compressed copy of a file", `${ASSET}.br`]
  ])("returns 404 for %s", async (_, path) => {
    expect((await fetch(url + path)).status).toBe(404)
  })

  it("states how to build the console if there is no build", async () => {
    const { url: bare } = await startGateway({ catalog: catalogOf({}) })
    const response = await fetch(`${bare}/console/home`)
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({
      error: { code: "not_found", message: expect.stringMatching(/npm run build/) }
    })
  })
})
