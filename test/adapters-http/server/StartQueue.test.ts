import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { connect, createServer } from "node:net"
import { StartQueue } from "@tollgate/adapters-http/server/StartQueue"
import { afterAll, describe, expect, it } from "vitest"

const echo = createServer((socket) => socket.pipe(socket))
afterAll(() => echo.close())

const block = (millis: number) => {
  const until = performance.now() + millis
  while (performance.now() < until) {}
}

describe("requests that arrive together", () => {
  it("start in the order of arrival, also requests that arrive while others wait", async () => {
    const queue = new StartQueue()
    const started: Array<number> = []
    for (const i of [1, 2, 3]) queue.add(() => started.push(i))
    expect(started).toEqual([])
    await new Promise<void>((resolve) => queue.add(() => queue.add(resolve)))
    await new Promise<void>((resolve) => queue.add(resolve))
    expect(started).toEqual([1, 2, 3])
  })

  it("start in different turns of the event loop, so that other sockets are served between them", async () => {
    echo.listen(0, "127.0.0.1")
    await once(echo, "listening")
    const socket = connect((echo.address() as AddressInfo).port, "127.0.0.1")
    await once(socket, "connect")
    const queue = new StartQueue()
    let starts = 0
    const all = new Promise<void>((resolve) => {
      for (let i = 0; i < 200; i++) {
        queue.add(() => {
          block(1)
          if (++starts === 200) resolve()
        })
      }
    })
    socket.write("chat")
    await once(socket, "data")
    expect(starts).toBeLessThan(20)
    await all
    socket.destroy()
  })
})
