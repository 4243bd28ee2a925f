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
  const upload = Object.assign(body, { socket: { destroy: vi.fn(() => void body.destroy()) } })
  discardBody(upload as unknown as IncomingMessage)
  return { body: upload, seen }
}

const TICK_MILLIS = 20
const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Closes the connections, and checks that no timer is left. */
const end = async (uploads: ReadonlyArray<ReturnType<typeof anUpload>>) => {
  for (const { body } of uploads) body.destroy()
  await turns(2)
  vi.advanceTimersByTime(TICK_MILLIS)
  expect(vi.getTimerCount()).toBe(0)
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
    await end(uploads)
  })

  it("share this rate when a hundred arrive at once", async () => {
    const uploads = Array.from({ length: 100 }, anUpload)
    for (const ticks of [1, 2, 3]) {
      vi.advanceTimersByTime(TICK_MILLIS)
      await turns(200)
      const bytes = uploads.reduce((sum, { seen }) => sum + seen.bytes, 0)
      expect(bytes).toBeLessThan((ticks + 1) * 320 * 1024)
    }
    await end(uploads)
  })

  it("are at most 256: the connection of the oldest is closed when another arrives", async () => {
    const uploads = Array.from({ length: 258 }, anUpload)
    const closed = uploads.map(({ body }) => body.socket.destroy.mock.calls.length)
    expect(closed.slice(0, 3)).toEqual([1, 1, 0])
    expect(closed.slice(2).every((calls) => calls === 0)).toBe(true)
    await end(uploads)
  })

  it("are ignored if their connection is already closed", async () => {
    const body = new PassThrough()
    body.destroy()
    await turns(2)
    discardBody(body as unknown as IncomingMessage)
    expect(vi.getTimerCount()).toBe(0)
  })
})
