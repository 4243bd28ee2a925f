import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import * as CsvResponse from "@tollgate/adapters-http/http/CsvResponse"
import { Effect, Stream } from "effect"
import { until } from "../../support/TestGateway.ts"

/** Starts a server that sends the CSV of the requested path. The path is also the identity of the caller. */
const aServer = (csvAt: Readonly<Record<string, Stream.Stream<string>>>) =>
  Effect.gen(function* () {
    const { send } = CsvResponse.make()
    const app = Effect.gen(function* () {
      const { url } = yield* HttpServerRequest.HttpServerRequest
      const csv = Effect.succeed(csvAt[url] ?? Stream.empty)
      return yield* send(url, "list.csv", csv)
    }).pipe(Effect.catchTag("Overloaded", () => Effect.succeed(HttpServerResponse.empty({ status: 503 }))))
    const handler = yield* NodeHttpServer.makeHandler(app)
    const server = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const made = createServer(handler)
        await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve))
        return made
      }),
      (made) => Effect.sync(() => made.close().closeAllConnections())
    )
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })

describe("a CSV response", () => {
  it.scopedLive("is cut off if a later page cannot be read", () =>
    Effect.gen(function* () {
      const url = yield* aServer({
        "/whole": Stream.make("a\r\n", "1\r\n"),
        "/broken": Stream.concat(Stream.make("a\r\n"), Stream.die("no database"))
      })
      const whole = yield* Effect.promise(() => fetch(`${url}/whole`))
      expect(yield* Effect.promise(() => whole.text())).toBe("a\r\n1\r\n")
      expect(whole.headers.get("content-disposition")).toBe('attachment; filename="list.csv"')
      const broken = fetch(`${url}/broken`).then((response) => response.text())
      expect(yield* Effect.flip(Effect.tryPromise(() => broken))).toBeDefined()
    })
  )

  it.scopedLive("is refused while its caller receives two other files", () =>
    Effect.gen(function* () {
      const endless = Stream.concat(Stream.make("a\r\n"), Stream.never)
      const url = yield* aServer({ "/slow": endless, "/quick": Stream.make("a\r\n") })
      const disconnect = new AbortController()
      const open = () => Effect.promise(() => fetch(`${url}/slow`, { signal: disconnect.signal }))
      expect([(yield* open()).status, (yield* open()).status, (yield* open()).status]).toEqual([200, 200, 503])
      const other = yield* Effect.promise(() => fetch(`${url}/quick`))
      expect(yield* Effect.promise(() => other.text())).toBe("a\r\n")
      disconnect.abort()
      const again = () => fetch(`${url}/slow`, { method: "HEAD" }).then(({ status }) => status === 200)
      yield* Effect.promise(() => until(again))
    })
  )
})
