/**
 * Serves two routes. `POST /holds` sets money aside before a request runs. `POST /settlements` charges the request
 * after it has run.
 *
 *     DATABASE_URL=postgres://... PORT=8090 node dist/main.js
 */
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Ledger from "./ledger.ts"

const { NonNegativeInt, String: Text } = Schema
const Body = Schema.Struct({ id: Text, account: Text, input: NonNegativeInt, output: NonNegativeInt })
const readBody = Schema.decodeUnknownEither(Schema.parseJson(Body))

/** Returns the status and the body of the response. */
const replyTo = async (request: IncomingMessage): Promise<readonly [number, unknown]> => {
  const body = readBody(await text(request))
  if (Either.isLeft(body)) return [400, { error: body.left.message }]
  switch (`${request.method} ${request.url}`) {
    case "POST /holds": {
      const result = await Ledger.hold(body.right)
      if (result === "request exists") return [409, { error: result }]
      return "_tag" in result ? [402, { error: result._tag }] : [201, result]
    }
    case "POST /settlements": {
      const settlement = await Ledger.settle(body.right)
      return settlement === "no hold" ? [404, { error: settlement }] : [200, settlement]
    }
    default:
      return [404, { error: "no such route" }]
  }
}

await Ledger.createTables()
const server = createServer(async (request, response) => {
  const [status, body] = await replyTo(request).catch((error) => [500, { error: String(error) }] as const)
  const json = JSON.stringify(body, (_key, value) => (typeof value === "bigint" ? value.toString() : value))
  response.writeHead(status, { "content-type": "application/json" }).end(json)
})
server.listen(Number(process.env.PORT ?? 8090), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
