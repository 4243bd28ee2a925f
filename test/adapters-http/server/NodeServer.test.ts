import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { connect } from "node:net"
import { getDefaultHighWaterMark, setDefaultHighWaterMark } from "node:stream"
import { defaults } from "@tollgate/adapters-http/server/GatewayOptions"
import { create, listen } from "@tollgate/adapters-http/server/NodeServer"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const BUFFER_BYTES = 16 * 1024

/** The default buffer size of Node.js 22 and 24. In Node.js 20 it is 16 KiB, as the gateway sets it. */
const LARGER_DEFAULT_BYTES = 64 * 1024

describe("a connection", () => {
  const installedDefault = getDefaultHighWaterMark(false)
  beforeAll(() => setDefaultHighWaterMark(false, LARGER_DEFAULT_BYTES))
  afterAll(() => setDefaultHighWaterMark(false, installedDefault))

  it("buffers 16 KiB in each direction", async () => {
    const options = { ...defaults, host: "127.0.0.1", port: 0 }
    const { server } = create(options)
    try {
      const { port } = await Effect.runPromise(listen(server, options))
      const client = connect(port, "127.0.0.1")
      client.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n")
      const [request, response] = (await once(server, "request")) as [IncomingMessage, ServerResponse]
      expect(request.readableHighWaterMark).toBe(BUFFER_BYTES)
      expect(response.writableHighWaterMark).toBe(BUFFER_BYTES)
      expect(request.socket.readableHighWaterMark).toBe(BUFFER_BYTES)
      expect(request.socket.writableHighWaterMark).toBe(BUFFER_BYTES)
      client.destroy()
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})
