/**
 * The providers of payments on this machine, for development: speaks their real wires, so that the real adapters run
 * against it, and lets somebody play payer. Says of itself, in every answer and on every page, that it is a
 * simulation. Never for production; the server refuses it there.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import * as BscSimulator from "./BscSimulator.ts"
import * as MidtransSimulator from "./MidtransSimulator.ts"
import * as NowPaymentsSimulator from "./NowPaymentsSimulator.ts"
import { PaymentControls } from "./PaymentControls.ts"
import { SimulatedPayments } from "./SimulatedPayments.ts"
import { json, type WireAnswer, type WireRequest } from "./SimulatedProvider.ts"
import * as TripaySimulator from "./TripaySimulator.ts"
import { makeDelivery } from "./WebhookDelivery.ts"
import { type LostAnswer, WireFault } from "./WireFault.ts"

export interface PaymentSimulatorOptions {
  /** 0, or absent, takes a free one. */
  readonly port?: number
  /** Where webhooks go of payments that name no address of their own: `http://127.0.0.1:8080`. */
  readonly webhookBase?: string
}

export interface PaymentSimulator {
  /** `http://127.0.0.1:4010`; each provider's wire is at its name below. */
  readonly baseUrl: string
}

const BODY_BYTES_AT_MOST = 65_536
const CONNECTIONS_AT_MOST = 256
const HANG = "60 seconds"
const MARK_NAME = "x-payment-simulator"
const STANDING_HEADERS = {
  [MARK_NAME]: "true",
  "cache-control": "no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

export const addressOf = (port: number): string => `http://127.0.0.1:${port}`

/** Whether an answer came from a payment simulator. */
export const isSimulated = (headers: Headers): boolean => headers.has(MARK_NAME)

/** Runs until its scope closes. Listens on loopback only. */
export const start = ({
  port = 0,
  webhookBase
}: PaymentSimulatorOptions = {}): Effect.Effect<PaymentSimulator, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntime<never>()
    const answer = yield* makeAnswer(webhookBase)
    const listening = Effect.async<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((request, response) => {
        const fiber = run(serve(request, response, answer))
        response.once("close", () => fiber.unsafeInterruptAsFork(fiber.id()))
      })
      server.maxConnections = CONNECTIONS_AT_MOST
      server.once("error", (error) => resume(Effect.die(error)))
      server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
    })
    const server = yield* Effect.acquireRelease(listening, (server) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
    )
    const address = server.address()
    return { baseUrl: addressOf(typeof address === "object" && address !== null ? address.port : port) }
  })

type Answer = (request: WireRequest) => Effect.Effect<WireAnswer | LostAnswer>

const makeAnswer = (webhookBase: string | undefined): Effect.Effect<Answer> =>
  Effect.gen(function* () {
    const payments = new SimulatedPayments()
    const fault = new WireFault()
    const bsc = BscSimulator.make(payments)
    const providers = [
      MidtransSimulator.make(payments),
      TripaySimulator.make(payments),
      NowPaymentsSimulator.make(payments),
      bsc
    ]
    const controls = new PaymentControls({ payments, providers, fault, deliver: yield* makeDelivery, webhookBase })
    return (request) => {
      const provider = providers.find(({ name }) => `${request.path}/`.startsWith(`/${name}/`))
      if (provider === undefined) return controls.answer(request)
      const asked = { ...request, path: request.path.slice(provider.name.length + 1) }
      return Effect.sync(() => {
        const beside = provider === bsc ? bsc.beside(asked) : undefined
        return beside ?? fault.distort(provider.name, () => provider.answer(asked))
      })
    }
  })

const serve = (request: IncomingMessage, response: ServerResponse, answer: Answer) =>
  Effect.gen(function* () {
    const host = request.headers.host ?? ""
    if (isForeign(host, request.headers.origin))
      return write(response, json(403, { error: { code: "foreign", message: "payment simulator: only from here" } }))
    const body = yield* readBody(request)
    if (body === undefined) {
      response.setHeader("connection", "close")
      return write(response, json(413, { error: { code: "too_large", message: "payment simulator: body too large" } }))
    }
    const [path = "/", query = ""] = (request.url ?? "/").split("?")
    const answered = yield* answer({
      method: request.method ?? "GET",
      path,
      query: new URLSearchParams(query),
      headers: request.headers,
      body,
      now: yield* Clock.currentTimeMillis,
      origin: addressOf(request.socket.localPort ?? 0)
    })
    if (answered === "hang") yield* Effect.sleep(HANG)
    if (typeof answered === "string") request.socket.resetAndDestroy()
    else write(response, answered)
  })

/** A page from elsewhere that a browser on this machine shows must not reach in, under no name. */
const isForeign = (host: string, origin: string | undefined): boolean =>
  !/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host) || (origin !== undefined && origin !== `http://${host}`)

/** Nothing where it is too large. */
const readBody = (request: IncomingMessage): Effect.Effect<string | undefined> =>
  Effect.async((resume) => {
    const pieces: Array<Buffer> = []
    let length = 0
    request.on("data", (piece: Buffer) => {
      length += piece.length
      if (length > BODY_BYTES_AT_MOST) resume(Effect.succeed(undefined))
      else pieces.push(piece)
    })
    request.on("end", () => resume(Effect.succeed(Buffer.concat(pieces).toString("utf8"))))
  })

const write = (response: ServerResponse, { body, contentType, headers, status }: WireAnswer): void => {
  response.writeHead(status, { ...STANDING_HEADERS, ...headers, "content-type": contentType }).end(body)
}
