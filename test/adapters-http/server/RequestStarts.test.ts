import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { connect, createServer } from "node:net"
import { type Party, RequestStarts } from "@tollgate/adapters-http/server/RequestStarts"
import { afterAll, describe, expect, it } from "vitest"

const echo = createServer((socket) => socket.pipe(socket))
afterAll(() => echo.close())

const block = (millis: number) => {
  const until = performance.now() + millis
  while (performance.now() < until) {}
}

const address = (name: string): Party => ({ name, isAuthorized: false })
const authorized = (name: string): Party => ({ name, isAuthorized: true })

/** Requests that start under a clock of the test. The clock advances only while requests wait. */
class Starts {
  readonly started: Array<{ readonly name: string; readonly atMillis: number }> = []
  nowMillis = 0
  isBusy = false
  readonly #starts: RequestStarts

  constructor(maxWaiting?: number) {
    this.#starts = new RequestStarts({ nowMillis: () => this.nowMillis, isBusy: () => this.isBusy }, maxWaiting)
  }

  add(party: Party): boolean {
    return this.#starts.add(party, () => this.started.push({ name: party.name, atMillis: this.nowMillis }))
  }

  async until(count: number): Promise<void> {
    while (this.started.length < count) {
      const before = this.started.length
      await new Promise((resolve) => setTimeout(resolve, 2))
      if (this.started.length === before) this.nowMillis += 1
    }
  }

  get names(): string {
    return this.started.map(({ name }) => name).join(" ")
  }
}

describe("requests that arrive together", () => {
  it("start in the order of arrival if one client sends them", async () => {
    const queue = new RequestStarts()
    const started: Array<number> = []
    for (const i of [1, 2, 3]) queue.add(address("one"), () => started.push(i))
    expect(started).toEqual([])
    await new Promise<void>((resolve) => queue.add(address("one"), () => queue.add(address("one"), resolve)))
    await new Promise<void>((resolve) => queue.add(address("one"), resolve))
    expect(started).toEqual([1, 2, 3])
  })

  it("start in different turns of the event loop", async () => {
    echo.listen(0, "127.0.0.1")
    await once(echo, "listening")
    const socket = connect((echo.address() as AddressInfo).port, "127.0.0.1")
    await once(socket, "connect")
    const queue = new RequestStarts({ nowMillis: () => 0, isBusy: () => false })
    let starts = 0
    const all = new Promise<void>((resolve) => {
      for (let i = 0; i < 200; i++) {
        queue.add(address("one"), () => {
          block(1)
          if (++starts === 200) resolve()
        })
      }
    })
    socket.write("chat")
    await once(socket, "data")
    expect(starts).toBeLessThan(200)
    await all
    socket.destroy()
  })

  it("alternate between the clients", async () => {
    const starts = new Starts()
    for (const name of ["a", "a", "a", "b"]) starts.add(authorized(name))
    for (const name of ["x", "x", "y"]) starts.add(address(name))
    await starts.until(7)
    expect(starts.names).toBe("a x b y a x a")
  })

  it("start at most once in 10 milliseconds while the event loop is busy", async () => {
    const starts = new Starts()
    starts.isBusy = true
    for (let i = 0; i < 5; i++) starts.add(address("x"))
    await starts.until(5)
    expect(starts.started.map(({ atMillis }) => atMillis)).toEqual([0, 10, 20, 30, 40])
  })

  it("with one API key or token start at 100 per second after the first 200", async () => {
    const starts = new Starts()
    for (let i = 0; i < 203; i++) starts.add(authorized("flood"))
    await starts.until(201)
    starts.add(authorized("other"))
    await starts.until(204)
    const late = starts.started.slice(199)
    expect(late.map(({ name }) => name)).toEqual(["flood", "flood", "other", "flood", "flood"])
    const flood = late.filter(({ name }) => name === "flood")
    expect(flood.map(({ atMillis }) => atMillis)).toEqual([0, 10, 20, 30])
  })

  it("are refused when their client has used up its waiting places", async () => {
    const starts = new Starts(8)
    expect([1, 2, 3, 4, 5].map(() => starts.add(address("flood")))).toEqual([true, true, true, true, false])
    expect(starts.add(address("other"))).toBe(true)
    await starts.until(5)
    expect(starts.add(address("flood"))).toBe(true)
  })

  it("are not refused when another client sends their IP address as its key", async () => {
    const starts = new Starts(8)
    for (let i = 0; i < 4; i++) starts.add(authorized("203.0.113.5"))
    expect(starts.add(address("203.0.113.5"))).toBe(true)
    await starts.until(5)
  })
})
