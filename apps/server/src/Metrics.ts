/**
 * What this node counts, as Prometheus text on a port of its own that only this machine reaches.
 */
import { createServer } from "node:http"
import type { RelayCounters } from "@tollgate/adapters-http/relay/RelayMetrics"
import { RelayMetrics } from "@tollgate/adapters-http/relay/RelayMetrics"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** A port that is taken is no reason not to serve; it is said, and the node goes on without metrics. */
export const layer = (port: number): Layer.Layer<never, never, RelayMetrics> =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const counters = yield* RelayMetrics
      const server = createServer((request, response) => {
        const found = request.method === "GET" && request.url === "/metrics"
        response.writeHead(found ? 200 : 404, { "content-type": "text/plain; version=0.0.4; charset=utf-8" })
        response.end(found ? render(counters) : "")
      })
      yield* Effect.acquireRelease(
        Effect.async<void>((resume) => {
          server.once("error", (error: NodeJS.ErrnoException) =>
            resume(Effect.logWarning(`no metrics: port ${port} cannot be used (${error.code}); set METRICS_PORT`))
          )
          server.listen(port, "127.0.0.1", () => resume(Effect.void))
        }),
        () =>
          Effect.async<void>((resume) => {
            server.closeAllConnections()
            server.close(() => resume(Effect.void))
          })
      )
    })
  )

export const render = (counters: RelayCounters): string => {
  const memory = process.memoryUsage()
  const processor = process.cpuUsage()
  return [
    ...family(
      "tollgate_requests_total",
      "counter",
      "Relayed requests that ended, by protocol, status told and ending."
    ),
    ...counters.finishedRequests.map(
      ({ protocol, status, ending, count }) =>
        `tollgate_requests_total{protocol="${protocol}",status="${status}",ending="${ending}"} ${count}`
    ),
    ...single(
      "tollgate_open_requests",
      "gauge",
      "Requests not ended yet, their settlement included.",
      counters.openRequests
    ),
    ...single("tollgate_open_streams", "gauge", "Event streams on their way to a client.", counters.openStreams),
    ...single(
      "tollgate_open_exchanges",
      "gauge",
      "Exchanges with suppliers that are not over.",
      counters.openExchanges
    ),
    ...single("tollgate_request_body_bytes", "gauge", "Bytes of request bodies in memory.", counters.bodyBytes),
    ...single("tollgate_image_bytes", "gauge", "Bytes of images and their forms in memory.", counters.imageBytes),
    ...single("tollgate_answer_bytes_total", "counter", "Bytes of answers handed to sockets.", counters.answerBytes),
    ...single("tollgate_deltas_total", "counter", "Content deltas written to clients.", counters.deltas),
    ...single("process_resident_memory_bytes", "gauge", "Resident memory.", memory.rss),
    ...single("process_cpu_seconds_total", "counter", "Processor time.", (processor.user + processor.system) / 1e6),
    ""
  ].join("\n")
}

const family = (name: string, type: "counter" | "gauge", help: string): ReadonlyArray<string> => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`
]

const single = (name: string, type: "counter" | "gauge", help: string, value: number): ReadonlyArray<string> => [
  ...family(name, type, help),
  `${name} ${value}`
]
