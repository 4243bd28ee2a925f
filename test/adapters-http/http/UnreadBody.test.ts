import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { PassThrough } from "node:stream"
import { acceptBody, expectContinue, limitDiscarding, refuseUnreadBody } from "@tollgate/adapters-http/http/UnreadBody"
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest"

const KIB = 1024
const PIECE_BYTES = 64 * KIB
const TICK_MILLIS = 20

/** A refused body that never ends. */
const anUpload = () => {
  const body = new PassThrough({ highWaterMark: PIECE_BYTES })
  const piece = Buffer.alloc(PIECE_BYTES)
  const read = { bytes: 0 }
  body.on("data", (chunk: Buffer) => {
    read.bytes += chunk.length
    setImmediate(() => body.write(piece))
  })
  body.pause()
  body.write(piece)
  const upload = Object.assign(body, { socket: { destroy: vi.fn(() => void body.destroy()) } })
  const writeRefusal = vi.fn()
  refuseUnreadBody(upload as unknown as IncomingMessage, writeRefusal)
  return { body: upload, read, isRefused: () => writeRefusal.mock.calls.length > 0 }
}

const eventLoopTurns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Returns the bytes that are read in each tick after all refusals are written. */
const bytesPerTick = async (
  uploads: ReadonlyArray<ReturnType<typeof anUpload>>,
  ticks: number
): Promise<ReadonlyArray<number>> => {
  const total = () => uploads.reduce((sum, { read }) => sum + read.bytes, 0)
  vi.advanceTimersByTime(50 * TICK_MILLIS)
  await eventLoopTurns(200)
  const bytes: Array<number> = []
  for (let tick = 0; tick < ticks; tick++) {
    const before = total()
    vi.advanceTimersByTime(TICK_MILLIS)
    await eventLoopTurns(200)
    expect(uploads.every(({ body }) => body.isPaused())).toBe(true)
    bytes.push(total() - before)
  }
  return bytes
}

/** Closes the connections, and checks that no timer runs. */
const end = async (uploads: ReadonlyArray<ReturnType<typeof anUpload>>) => {
  for (const { body } of uploads) body.destroy()
  await eventLoopTurns(2)
  vi.advanceTimersByTime(TICK_MILLIS)
  expect(vi.getTimerCount()).toBe(0)
}

describe("discarded bodies", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }))
  afterEach(() => void vi.useRealTimers())

  it.each([2, 64])("share 160 KiB in 20 ms: %i bodies", async (count) => {
    const uploads = Array.from({ length: count }, anUpload)
    const bytes = await bytesPerTick(uploads, 6)
    // A body is read in pieces of 64 KiB. Two pieces and three pieces alternate, which is 160 KiB on average.
    expect([...bytes].sort((a, b) => a - b)).toEqual([128, 128, 128, 192, 192, 192].map((kib) => kib * KIB))
    expect((bytes[0] ?? 0) + (bytes[1] ?? 0)).toBe(320 * KIB)
    await end(uploads)
  })

  it("share 64 KiB in 20 ms if there are 65 bodies", async () => {
    const uploads = Array.from({ length: 65 }, anUpload)
    expect(await bytesPerTick(uploads, 3)).toEqual([64 * KIB, 64 * KIB, 64 * KIB])
    await end(uploads)
  })

  it("are limited to 512", async () => {
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
  const refused = (uploads: ReadonlyArray<ReturnType<typeof anUpload>>) =>
    uploads.map((upload, i) => (upload.isRefused() ? i : -1)).filter((i) => i >= 0)

  it("are limited to two in 20 ms", async () => {
    const uploads = Array.from({ length: 6 }, anUpload)
    expect(refused(uploads)).toEqual([0, 1])
    vi.advanceTimersByTime(TICK_MILLIS)
    expect(refused(uploads)).toEqual([0, 1, 2, 3])
    vi.advanceTimersByTime(TICK_MILLIS)
    expect(refused(uploads)).toEqual([0, 1, 2, 3, 4, 5])
    await end(uploads)
  })

  it("are written immediately if 512 are waiting already", async () => {
    const uploads = Array.from({ length: 516 }, anUpload)
    expect(refused(uploads)).toEqual([0, 1, 514, 515])
    await end(uploads)
  })

  it("are not written if the client disconnects while they wait", async () => {
    const uploads = Array.from({ length: 4 }, anUpload)
    uploads[2]?.body.destroy()
    await eventLoopTurns(2)
    vi.advanceTimersByTime(2 * TICK_MILLIS)
    expect(refused(uploads)).toEqual([0, 1, 3])
    await end(uploads)
  })

  it("are not written if the connection is already closed", async () => {
    const body = new PassThrough()
    body.destroy()
    await eventLoopTurns(2)
    const writeRefusal = vi.fn()
    refuseUnreadBody(body as unknown as IncomingMessage, writeRefusal)
    expect(writeRefusal).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe("the connection of a body that was refused after its first part", () => {
  const DISCARD_MILLIS = 5_000
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }))
  afterEach(() => void vi.useRealTimers())

  /** Sends the first part of a body. Returns the connection and the server when the refusal has arrived. */
  const refused = async () => {
    const server = createServer((request, response) => {
      if (request.method === "GET") return
      request.once("data", () => {
        request.pause()
        limitDiscarding(request)
        response.writeHead(413).end()
      })
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const connection = connect((server.address() as AddressInfo).port, "127.0.0.1")
    connection.write("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 8\r\n\r\nfirst")
    expect(String((await once(connection, "data"))[0])).toContain("413")
    onTestFinished(() => {
      connection.destroy()
      server.close()
    })
    return { connection, server }
  }

  it("serves the next request if the rest of the body arrives within 5 seconds", async () => {
    const { connection, server } = await refused()
    connection.write("endGET / HTTP/1.1\r\nhost: test\r\n\r\n")
    const response: ServerResponse = (await once(server, "request"))[1]
    vi.advanceTimersByTime(DISCARD_MILLIS)
    response.end("served")
    expect(String((await once(connection, "data"))[0])).toContain("served")
  })

  it("is closed after 5 seconds if the rest of the body does not arrive", async () => {
    const { connection } = await refused()
    vi.advanceTimersByTime(DISCARD_MILLIS - 1)
    await eventLoopTurns(10)
    expect(connection.closed).toBe(false)
    const closed = once(connection, "close")
    vi.advanceTimersByTime(1)
    await closed
  })
})

describe("a request with `Expect: 100-continue`", () => {
  it("closes its connection if the drain begins before its body is accepted", () => {
    const request = {} as IncomingMessage
    const response = { shouldKeepAlive: true, writeContinue: vi.fn() }
    expectContinue(request, response as unknown as ServerResponse)
    response.shouldKeepAlive = false
    acceptBody(request)
    expect(response).toEqual({ shouldKeepAlive: false, writeContinue: expect.any(Function) })
    expect(response.writeContinue).toHaveBeenCalledTimes(1)
  })
})
