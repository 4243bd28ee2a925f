/**
 * Simulates all payment providers on this machine, for development and tests. The simulator uses the real protocols, so
 * the adapters of production can call it. Its control page has buttons to pay. A header marks the responses as
 * simulated. In production, the gateway server refuses to run the simulator.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { localSimulatorUrl, type PaymentSimulation } from "@tollgate/adapters-upstream/topup/PaymentSimulation"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import * as SharedServer from "../sharing/SharedServer.ts"
import { PaymentControls } from "./PaymentControls.ts"
import { SimulatedPayments } from "./payment/SimulatedPayments.ts"
import { json, type WireRequest, type WireResponse } from "./payment/SimulatedProvider.ts"
import { SIMULATED_PROVIDERS } from "./SimulatedProviders.ts"
import { makeDelivery } from "./WebhookDelivery.ts"
import { type LostResponse, WireFault } from "./WireFault.ts"

export interface PaymentSimulatorOptions {
  /** The TCP port; 0 or undefined selects a free port. */
  readonly port?: number
  /**
   * The base URL of the gateway, for example `http://127.0.0.1:8080`. The webhooks of payments without a webhook URL
   * are sent to the path `/webhooks/payments/{provider}` of this URL.
   */
  readonly webhookBase?: string
}

export interface PaymentSimulator {
  /**
   * The URL of the simulator, for example `http://127.0.0.1:4010`. The paths of a provider's API begin with the
   * provider's name.
   */
  readonly baseUrl: string
}

const MAX_BODY_BYTES = 65_536
const MAX_CONNECTIONS = 256
const HANG = "60 seconds"
const HEADER_NAME = "x-payment-simulator"
const STANDING_HEADERS = {
  [HEADER_NAME]: "true",
  "cache-control": "no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

/** Returns whether a response came from a payment simulator. */
export const isSimulated = (headers: Headers): boolean => headers.has(HEADER_NAME)

/** Starts the simulator, which listens on loopback only and runs until the scope closes. */
export const start = ({
  port = 0,
  webhookBase
}: PaymentSimulatorOptions = {}): Effect.Effect<PaymentSimulator, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntime<never>()
    const respond = yield* makeRespond(webhookBase)
    const listening = Effect.async<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((request, response) => {
        const fiber = run(serve(request, response, respond))
        response.once("close", () => fiber.unsafeInterruptAsFork(fiber.id()))
      })
      server.maxConnections = MAX_CONNECTIONS
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
    return { baseUrl: localSimulatorUrl(typeof address === "object" && address !== null ? address.port : port) }
  })

/**
 * Starts the simulator, or joins the simulator that another server of this machine already runs on the port. If another
 * program uses the port, the simulator selects a free port.
 */
export const startOrJoin: PaymentSimulation["startOrJoin"] = (options) =>
  SharedServer.startOrJoin<PaymentSimulator, Scope.Scope>({
    port: options.port,
    start: (port) => start({ ...options, port }),
    address: localSimulatorUrl(options.port),
    isOurs: isSimulated,
    joined: { baseUrl: localSimulatorUrl(options.port) }
  })

/** The implementation that a server uses to connect the adapters of production to the simulator. */
export const paymentSimulation: PaymentSimulation = { counterparts: SIMULATED_PROVIDERS, startOrJoin }

type Respond = (request: WireRequest) => Effect.Effect<WireResponse | LostResponse>

const makeRespond = (webhookBase: string | undefined): Effect.Effect<Respond> =>
  Effect.gen(function* () {
    const payments = new SimulatedPayments()
    const fault = new WireFault()
    const providers = SIMULATED_PROVIDERS.map(({ simulate }) => simulate(payments))
    const controls = new PaymentControls({ payments, providers, fault, deliver: yield* makeDelivery, webhookBase })
    return (request) => {
      const provider = providers.find(({ name }) => `${request.path}/`.startsWith(`/${name}/`))
      if (provider === undefined) return controls.respond(request)
      const providerRequest = { ...request, path: request.path.slice(provider.name.length + 1) }
      return Effect.sync(() => {
        const { controls } = provider
        if (providerRequest.method === "POST" && controls?.paths.includes(providerRequest.path))
          return controls.post(providerRequest)
        return fault.distort(provider.name, () => provider.respond(providerRequest))
      })
    }
  })

const serve = (request: IncomingMessage, response: ServerResponse, respond: Respond) =>
  Effect.gen(function* () {
    const host = request.headers.host ?? ""
    if (isForeign(host, request.headers.origin))
      return write(
        response,
        json(403, { error: { code: "foreign", message: "payment simulator: requests from other origins are refused" } })
      )
    const body = yield* readBody(request)
    if (body === undefined) {
      response.setHeader("connection", "close")
      return write(
        response,
        json(413, { error: { code: "too_large", message: "payment simulator: the body is too large" } })
      )
    }
    const [path = "/", query = ""] = (request.url ?? "/").split("?")
    const responded = yield* respond({
      method: request.method ?? "GET",
      path,
      query: new URLSearchParams(query),
      headers: request.headers,
      body,
      now: yield* Clock.currentTimeMillis,
      origin: localSimulatorUrl(request.socket.localPort ?? 0)
    })
    if (responded === "hang") yield* Effect.sleep(HANG)
    if (typeof responded === "string") request.socket.resetAndDestroy()
    else write(response, responded)
  })

/**
 * Returns whether the headers show that a request can come from a web page of another origin, directly or by DNS
 * rebinding.
 */
const isForeign = (host: string, origin: string | undefined): boolean =>
  !/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host) || (origin !== undefined && origin !== `http://${host}`)

/** Reads the body; returns `undefined` if the body is too large. */
const readBody = (request: IncomingMessage): Effect.Effect<string | undefined> =>
  Effect.async((resume) => {
    const pieces: Array<Buffer> = []
    let length = 0
    request.on("data", (piece: Buffer) => {
      length += piece.length
      if (length > MAX_BODY_BYTES) resume(Effect.succeed(undefined))
      else pieces.push(piece)
    })
    request.on("end", () => resume(Effect.succeed(Buffer.concat(pieces).toString("utf8"))))
  })

const write = (response: ServerResponse, { body, contentType, headers, status }: WireResponse): void => {
  response.writeHead(status, { ...STANDING_HEADERS, ...headers, "content-type": contentType }).end(body)
}
