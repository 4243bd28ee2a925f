/**
 * Implements the baseline of the benchmarks: a minimal proxy. It receives requests with node:http, sends them with
 * undici's `dispatch`, and forwards the response bytes with backpressure. It has no API keys, balances or metrics. The
 * report compares the figures of Tollgate with those of this proxy. The proxy runs in a separate process.
 */
import { createServer } from "node:http"
import { Pool } from "undici"

const [upstreamPort] = process.argv.slice(2)
const pool = new Pool(`http://127.0.0.1:${upstreamPort}`, {
  connections: null,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0
})

const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  const pieces: Array<Buffer> = []
  request.on("data", (piece: Buffer) => pieces.push(piece))
  request.on("end", () => {
    const body = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)
    let abort = () => {}
    response.on("close", () => abort())
    pool.dispatch(
      {
        method: "POST",
        path: request.url ?? "/",
        headers: ["content-type", "application/json", "authorization", "Bearer bench"],
        body: body ?? null
      },
      {
        onRequestStart: (controller) => {
          abort = () => controller.abort(new Error("the client disconnected"))
          response.on("drain", () => controller.resume())
        },
        onResponseStart: (_, status, headers) => {
          response.statusCode = status
          for (const name of ["content-type", "content-length"]) {
            const value = headers[name]
            if (value !== undefined) response.setHeader(name, value)
          }
        },
        onResponseData: (controller, data) => {
          if (!response.write(data)) controller.pause()
        },
        onResponseEnd: () => {
          abort = () => {}
          response.end()
        },
        onResponseError: () => {
          response.destroy()
        }
      }
    )
  })
})
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  const address = server.address()
  process.send?.({ ready: typeof address === "object" ? address?.port : 0 })
})
process.on("disconnect", () => process.exit())
