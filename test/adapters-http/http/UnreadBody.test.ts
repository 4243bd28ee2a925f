import type { IncomingMessage } from "node:http"
import { PassThrough } from "node:stream"
import { discardBody } from "@tollgate/adapters-http/http/UnreadBody"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"

/** Uploads an endless body: writes a piece whenever the body is read. */
const anUpload = () => {
  const body = new PassThrough({ highWaterMark: 64 * 1024 })
  const piece = Buffer.alloc(64 * 1024)
  const seen = { bytes: 0 }
  body.on("data", (chunk: Buffer) => {
    seen.bytes += chunk.length
    setImmediate(() => body.write(piece))
  })
  body.pause()
  body.write(piece)
  discardBody(body as unknown as IncomingMessage)
  return { body, seen }
}

const TICK_MILLIS = 20
const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe("discarded bodies", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }))
  afterEach(() => void vi.useRealTimers())

  it("share 160 KiB in 20 ms, and are paused for the rest of this time", async () => {
    const uploads = [anUpload(), anUpload()]
    const total = () => uploads.reduce((sum, { seen }) => sum + seen.bytes, 0)
    for (const ticks of [1, 2, 3]) {
      vi.advanceTimersByTime(TICK_MILLIS)
      await turns(200)
      expect(uploads.every(({ body }) => body.isPaused())).toBe(true)
      expect(total()).toBeGreaterThanOrEqual(ticks * 160 * 1024)
      expect(total()).toBeLessThan((ticks + 1) * 320 * 1024)
    }
    for (const { body } of uploads) body.destroy()
    await turns(2)
    vi.advanceTimersByTime(TICK_MILLIS)
    expect(vi.getTimerCount()).toBe(0)
  })
})
