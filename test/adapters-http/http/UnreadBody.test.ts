import type { IncomingMessage } from "node:http"
import { PassThrough } from "node:stream"
import { refuseUnreadBody } from "@tollgate/adapters-http/http/UnreadBody"
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
  const write = vi.fn()
  refuseUnreadBody(upload as unknown as IncomingMessage, write)
  return { body: upload, seen, isAnswered: () => write.mock.calls.length > 0 }
}

const TICK_MILLIS = 20
const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Returns the bytes that were read after 1, 2 and 3 ticks. The ticks are counted when every upload has been read once. */
const bytesAfterTicks = async (uploads: ReadonlyArray<ReturnType<typeof anUpload>>): Promise<ReadonlyArray<number>> => {
  const total = () => uploads.reduce((sum, { seen }) => sum + seen.bytes, 0)
  vi.advanceTimersByTime(50 * TICK_MILLIS)
  await turns(200)
  const before = total()
  const bytes: Array<number> = []
  for (let tick = 0; tick < 3; tick++) {
    vi.advanceTimersByTime(TICK_MILLIS)
    await turns(200)
    bytes.push(total() - before)
  }
  return bytes
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

  it("share 160 KiB in 20 ms also when there are 64", async () => {
    const uploads = Array.from({ length: 64 }, anUpload)
    for (const [i, bytes] of (await bytesAfterTicks(uploads)).entries())
      expect(bytes).toBeLessThan((i + 2) * 320 * 1024)
    await end(uploads)
  })

  it("share 64 KiB in 20 ms when there are 65", async () => {
    const uploads = Array.from({ length: 65 }, anUpload)
    expect(await bytesAfterTicks(uploads)).toEqual([64 * 1024, 128 * 1024, 192 * 1024])
    await end(uploads)
  })

  it("are at most 512: the connection of the oldest is closed when another is refused", async () => {
    const uploads = Array.from({ length: 514 }, anUpload)
    vi.advanceTimersByTime(256 * TICK_MILLIS)
    const closed = uploads.map(({ body }) => body.socket.destroy.mock.calls.length)
    expect(closed.slice(0, 3)).toEqual([1, 1, 0])
    expect(closed.slice(2).every((calls) => calls === 0)).toBe(true)
    await end(uploads)
  })
})

describe("refusals of unread bodies", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }))
  afterEach(() => void vi.useRealTimers())
  const answered = (uploads: ReadonlyArray<ReturnType<typeof anUpload>>) =>
    uploads.map((upload, i) => (upload.isAnswered() ? i : -1)).filter((i) => i >= 0)

  it("are written immediately, but at most two in 20 ms, the oldest first", async () => {
    const uploads = Array.from({ length: 6 }, anUpload)
    expect(answered(uploads)).toEqual([0, 1])
    vi.advanceTimersByTime(TICK_MILLIS)
    expect(answered(uploads)).toEqual([0, 1, 2, 3])
    vi.advanceTimersByTime(TICK_MILLIS)
    expect(answered(uploads)).toEqual([0, 1, 2, 3, 4, 5])
    await end(uploads)
  })

  it("are written immediately if 512 are waiting already", async () => {
    const uploads = Array.from({ length: 516 }, anUpload)
    expect(answered(uploads)).toEqual([0, 1, 514, 515])
    await end(uploads)
  })

  it("are not written if the client disconnects before", async () => {
    const uploads = Array.from({ length: 4 }, anUpload)
    uploads[2]?.body.destroy()
    await turns(2)
    vi.advanceTimersByTime(2 * TICK_MILLIS)
    expect(answered(uploads)).toEqual([0, 1, 3])
    await end(uploads)
  })

  it("are not written if the connection is already closed", async () => {
    const body = new PassThrough()
    body.destroy()
    await turns(2)
    const write = vi.fn()
    refuseUnreadBody(body as unknown as IncomingMessage, write)
    expect(write).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })
})
