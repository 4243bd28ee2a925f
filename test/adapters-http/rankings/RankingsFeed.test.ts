import { RankingsBody } from "@tollgate/adapters-http/rankings/RankingsBody"
import { Schema } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import * as BelievableHistory from "../../support/rankings/BelievableHistory.ts"
import { RememberedRankings } from "../../support/rankings/RememberedRankings.ts"
import { RawClient } from "../inference/relay/RawClient.ts"
import {
  catalogOf,
  closeGateways,
  noResources,
  startGateway,
  type TestGateway
} from "../inference/relay/TestGateway.ts"

let rankings: RememberedRankings
let gateway: TestGateway
beforeEach(async () => {
  rankings = new RememberedRankings()
  gateway = await startGateway({ catalog: catalogOf({}), rankings: rankings.layer })
})
afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
})

const getRankings = (query = "", headers: Record<string, string> = {}) =>
  fetch(`${gateway.url}/api/rankings${query}`, { headers })

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((a, b) => a + b, 0)

describe("the rankings", () => {
  it.each(["day", "week", "month", "all"] as const)("add up to their totals for the window %s", async (window) => {
    const response = await getRankings(`?window=${window}&modality=text`)
    expect(response.status).toBe(200)
    expect(response.headers.get("cache-control")).toBe("public, max-age=60")
    expect(response.headers.get("content-type")).toBe("application/json")
    expect(response.headers.get("x-request-id")).toBeTruthy()
    const body: unknown = await response.json()
    // The document has exactly the documented members.
    const document = Schema.decodeUnknownSync(RankingsBody, { onExcessProperty: "error" })(body)
    expect(document).toMatchObject({ schema_version: 1, window, modality: "text" })
    expect(document.generated_at).toBe(BelievableHistory.now.toISOString())
    expect(document.range.to).toBe("2026-11-20T09:42:00.000Z")
    expect(document.range.data_since).toBe("2026-08-22")
    const { totals, leaderboard, other, series } = document
    expect(sum(leaderboard.map(({ tokens }) => tokens)) + other.tokens).toBe(totals.tokens)
    expect(sum(document.authors.map(({ share_bp }) => share_bp))).toBe(10_000)
    for (const { values } of series.points) expect(Object.keys(values)).toEqual(series.keys)
    expect(sum(series.points.map(({ values, other }) => sum(Object.values(values)) + other))).toBe(totals.tokens)
    expect(leaderboard.map(({ public_name }) => public_name)).not.toContain("house-model")
  })

  it("cover the last week and text models by default", async () => {
    expect(await (await getRankings()).json()).toMatchObject({
      window: "week",
      modality: "text",
      series: { bucket: "day" }
    })
  })

  it("have no comparison period for the window `all`", async () => {
    const document = Schema.decodeUnknownSync(RankingsBody)(await (await getRankings("?window=all")).json())
    expect(document.range.previous_from).toBeNull()
    expect(document.totals.previous_tokens).toBeNull()
    for (const { previous_tokens, change_pct, is_new } of document.leaderboard) {
      expect({ previous_tokens, change_pct, is_new }).toEqual({
        previous_tokens: null,
        change_pct: null,
        is_new: false
      })
    }
  })

  it("are empty before the first usage", async () => {
    rankings.used = false
    const response = await getRankings()
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      range: { data_since: null },
      totals: { tokens: 0, previous_tokens: 0 },
      leaderboard: [],
      other: { tokens: 0 },
      series: { keys: [] },
      authors: [],
      trending: [],
      fastest: []
    })
  })

  it("are readable by any web page without an API key", async () => {
    const response = await getRankings("", { origin: "https://elsewhere.example" })
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([200, "*"])
  })
})

describe("a rankings document", () => {
  it("is sent as the same bytes while it is cached", async () => {
    const [first, second] = [await getRankings("?window=day"), await getRankings("?window=day")]
    expect(await second.text()).toBe(await first.text())
    expect(second.headers.get("etag")).toBe(first.headers.get("etag"))
    expect(rankings.computed).toBe(1)
    rankings.forget()
    rankings.used = false
    const third = await getRankings("?window=day")
    expect(third.headers.get("etag")).not.toBe(first.headers.get("etag"))
  })

  it("is not sent to a client that already has it", async () => {
    const etag = (await getRankings()).headers.get("etag") ?? ""
    for (const known of [etag, etag.replace("W/", ""), `"other", ${etag}`]) {
      const response = await getRankings("", { "if-none-match": known })
      expect(response.status).toBe(304)
      expect(await response.text()).toBe("")
      expect(response.headers.get("cache-control")).toBe("public, max-age=60")
    }
    expect((await getRankings("", { "if-none-match": '"other"' })).status).toBe(200)
  })

  it("is compressed only for clients that accept gzip", async () => {
    const raw = async (encoding: string) => {
      const head = `GET /api/rankings HTTP/1.1\r\nhost: x\r\n${encoding}connection: close\r\n\r\n`
      const client = await RawClient.connect(gateway.port)
      await client.send(head).until(({ closed }) => closed, "the whole response")
      return client.text
    }
    const plain = await raw("")
    expect(plain).not.toMatch(/content-encoding/i)
    expect(plain).toContain('"schema_version":1')
    expect(await raw("accept-encoding: gzip;q=0, br\r\n")).not.toMatch(/content-encoding/i)
    const response = await getRankings()
    expect(response.headers.get("content-encoding")).toBe("gzip")
    expect(response.headers.get("vary")).toBe("accept-encoding")
  })
})

describe("a request for the rankings is refused", () => {
  it.each([
    ["?window=year", "window must be given once, as day, week, month or all."],
    ["?window=", "window must be given once, as day, week, month or all."],
    ["?window=day&window=week", "window must be given once, as day, week, month or all."],
    ["?modality=image", "modality must be given once, as text."],
    ["?window=constructor", "window must be given once, as day, week, month or all."]
  ])("for the query %s", async (query, message) => {
    const response = await getRankings(query)
    expect(response.status).toBe(400)
    expect(response.headers.get("cache-control")).toBe("no-store")
    expect(await response.json()).toEqual({
      error: { code: "invalid_request", message, request_id: response.headers.get("x-request-id") }
    })
  })

  it("if the rankings are not published", async () => {
    rankings.enabled = false
    for (const query of ["", "?window=year"]) {
      const response = await getRankings(query)
      expect(response.status).toBe(404)
      expect(response.headers.get("cache-control")).toBe("no-store")
      expect(await response.json()).toMatchObject({ error: { code: "not_found", message: expect.any(String) } })
    }
  })

  it("while the usage cannot be read", async () => {
    rankings.readable = false
    const response = await getRankings()
    expect(response.status).toBe(500)
    expect(response.headers.get("cache-control")).toBe("no-store")
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({ error: { code: "internal_error", message: expect.any(String) } })
    expect(text).not.toContain("cannot be read")
    expect(gateway.logged.join("\n")).toContain("the usage history cannot be read")
    rankings.readable = true
    expect((await getRankings()).status).toBe(200)
  })

  it("if the method is not GET or HEAD", async () => {
    const response = await fetch(`${gateway.url}/api/rankings`, { method: "POST" })
    expect(response.status).toBe(405)
    expect(response.headers.get("allow")).toBe("GET, HEAD")
    expect((await fetch(`${gateway.url}/api/rankings`, { method: "HEAD" })).status).toBe(200)
  })
})
