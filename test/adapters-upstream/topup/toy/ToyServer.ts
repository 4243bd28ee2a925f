/**
 * Serves the HTTP API of the toy payment provider. It stores invoices in memory and builds signed webhooks, which the
 * test delivers.
 *
 *     POST /invoices        { ref, total, callback }
 *     GET  /invoices/{id}
 */
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { Effect, type Scope } from "effect"
import { listen } from "../../../support/SimulatedPayments.ts"
import { SIGNATURE_HEADER, signatureOf } from "./ToyProvider.ts"

interface Invoice {
  readonly id: string
  readonly ref: string
  readonly total: string
  readonly callback: string
  state: "open" | "settled"
}

export interface ToyServer {
  readonly url: string
  readonly invoices: ReadonlyArray<Invoice>
  readonly settle: (ref: string) => void
  readonly webhookFor: (ref: string) => { readonly headers: Record<string, string>; readonly body: Uint8Array }
}

export const start = (apiKey: string): Effect.Effect<ToyServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const invoices: Array<Invoice> = []
    const respond = (method: string, path: string, body: string): readonly [status: number, body: unknown] => {
      if (method === "POST" && path === "/invoices") {
        const { callback, ref, total } = JSON.parse(body)
        const invoice: Invoice = { id: `toy-${randomUUID()}`, ref, total: `${total}`, callback, state: "open" }
        invoices.push(invoice)
        return [201, { ...invoice, code: `TOY ${ref} ${total}` }]
      }
      const found = invoices.find(({ id }) => path === `/invoices/${id}`)
      return found === undefined ? [404, { error: "no such invoice" }] : [200, found]
    }
    const server = createServer((request, response) => {
      const pieces: Array<Buffer> = []
      request.on("data", (piece: Buffer) => pieces.push(piece))
      request.on("end", () => {
        const [status, body] =
          request.headers["x-api-key"] === apiKey
            ? respond(request.method ?? "", request.url ?? "", Buffer.concat(pieces).toString("utf8"))
            : [401, {}]
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
      })
    })
    const port = yield* Effect.acquireRelease(listen(server), () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
    )
    return {
      url: `http://127.0.0.1:${port}`,
      invoices,
      settle: (ref) => {
        for (const invoice of invoices) if (invoice.ref === ref) invoice.state = "settled"
      },
      webhookFor: (ref) => {
        const body = JSON.stringify({ ref })
        return { headers: { [SIGNATURE_HEADER]: signatureOf(body, apiKey) }, body: Buffer.from(body) }
      }
    }
  })
