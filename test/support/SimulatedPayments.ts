/**
 * Provides a payment simulator for tests, an HTTP client for the simulator, and a receiver of its webhooks.
 */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http"
import * as PaymentSimulator from "@tollgate/simulators/topup/PaymentSimulator"
import { Effect } from "effect"

/** A JSON object. Tests convert a member with {@link textOf} or {@link listOf}. */
export interface Json {
  readonly [member: string]: Json | undefined
}

export interface SimulatorResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed text, or an empty object when the text is not JSON. */
  readonly body: Json
}

export interface SimulatorClient {
  readonly baseUrl: string
  readonly get: (path: string, headers?: Record<string, string>) => Effect.Effect<SimulatorResponse>
  /** Sends a string unchanged and any other body as JSON. */
  readonly post: (path: string, body?: unknown, headers?: Record<string, string>) => Effect.Effect<SimulatorResponse>
}

const send = (url: string, init: RequestInit): Effect.Effect<SimulatorResponse> =>
  Effect.promise(async (signal) => {
    const response = await fetch(url, { redirect: "manual", signal, ...init })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: jsonOf(text) }
  })

export const jsonOf = (text: string): Json => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

export const listOf = (member: Json | undefined): ReadonlyArray<Json> =>
  Array.isArray(member) ? (member as ReadonlyArray<Json>) : []

export const textOf = (member: Json | undefined): string => `${member}`

export const clientOf = (baseUrl: string): SimulatorClient => ({
  baseUrl,
  get: (path, headers = {}) => send(baseUrl + path, { headers }),
  post: (path, body, headers = {}) =>
    send(baseUrl + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: body === undefined || typeof body === "string" ? (body ?? "") : JSON.stringify(body)
    })
})

export const startedSimulator = (options: PaymentSimulator.PaymentSimulatorOptions = {}) =>
  Effect.map(PaymentSimulator.start(options), ({ baseUrl }) => clientOf(baseUrl))

export interface ReceivedWebhook {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Starts a server that records webhooks. It responds 200 to each of them, or never if `responds` is false. */
export const startWebhookReceiver = (responds = true) =>
  Effect.gen(function* () {
    const webhooks: Array<ReceivedWebhook> = []
    const server = createServer((request, response) => {
      const pieces: Array<Buffer> = []
      request.on("data", (piece: Buffer) => pieces.push(piece))
      request.on("end", () => {
        webhooks.push({ path: request.url ?? "", headers: request.headers, body: Buffer.concat(pieces).toString() })
        if (responds) response.end("{}")
      })
    })
    const port = yield* Effect.acquireRelease(listen(server), () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
    )
    return { url: `http://127.0.0.1:${port}`, webhooks }
  })

export const listen = (server: Server, port = 0): Effect.Effect<number> =>
  Effect.async((resume) => {
    server.listen(port, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })
