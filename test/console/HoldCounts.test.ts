import { describe, expect, it } from "vitest"
import { countHolds } from "../../apps/console/src/pages/operator/HoldCounts.ts"

const NOW = Date.parse("2026-11-20T10:00:00Z")
const aHold = (minutes: number, orphaned: boolean) => ({
  held_at: new Date(NOW - minutes * 60_000).toISOString(),
  orphaned
})
type Hold = ReturnType<typeof aHold>

const countsOf = async (holds: ReadonlyArray<Hold>) => {
  let pages = 0
  const counts = await countHolds(async ({ cursor = "0", limit }) => {
    const end = Number(cursor) + limit
    pages += 1
    return { data: holds.slice(Number(cursor), end), next_cursor: end < holds.length ? String(end) : null }
  }, NOW)
  return { ...counts, pages }
}

const exactly = (count: number) => ({ count, orMore: false })
const atLeast = (count: number) => ({ count, orMore: true })

describe("the counts of open requests", () => {
  it("are zero without an open request", async () => {
    expect(await countsOf([])).toEqual({ old: exactly(0), orphaned: exactly(0), pages: 1 })
  })

  it("include the requests behind the first 100", async () => {
    const old = Array.from({ length: 120 }, () => aHold(11, false))
    const orphaned = Array.from({ length: 130 }, (_, nth) => aHold(9, nth % 10 === 0))
    expect(await countsOf([...old, ...orphaned])).toEqual({ old: exactly(120), orphaned: exactly(13), pages: 3 })
  })

  it("are lower bounds if more than 1,000 requests are open", async () => {
    const old = Array.from({ length: 1_001 }, () => aHold(11, true))
    expect(await countsOf(old)).toEqual({ old: atLeast(1_000), orphaned: atLeast(1_000), pages: 10 })
  })

  it("are exact for old requests if all old ones are read", async () => {
    const holds = Array.from({ length: 1_001 }, (_, nth) => aHold(nth < 7 ? 11 : 1, nth === 0))
    expect(await countsOf(holds)).toEqual({ old: exactly(7), orphaned: atLeast(1), pages: 10 })
  })
})
