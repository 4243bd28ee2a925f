/**
 * Runs a simulated upstream on this machine, for development and tests. Its responses have the real wire formats, a
 * realistic pace and the header `x-simulated-upstream`. In production, the gateway server refuses to run the simulated
 * upstream.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import { asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import * as SimulatedImages from "../images/SimulatedImages.ts"
import * as SharedServer from "../sharing/SharedServer.ts"
import { type SimulatedProtocol, SimulatedRefusal, type SimulatedResponse } from "../sharing/SimulatedProtocol.ts"
import { PromptMemory } from "./PromptMemory.ts"
import * as SimulatedChat from "./SimulatedChat.ts"
import * as SimulatedEmbeddings from "./SimulatedEmbeddings.ts"
import * as SimulatedMessages from "./SimulatedMessages.ts"
import * as SimulatedResponses from "./SimulatedResponses.ts"

export interface SimulationOptions {
  /** The factor that multiplies all delays: 1 is a realistic pace; 0 removes the delays. */
  readonly pace?: number
  /** The TCP port; 0 or undefined selects a free port. */
  readonly port?: number
}

export interface SimulatedUpstream {
  /** The `base_url` of this upstream in a catalog. */
  readonly baseUrl: string
}

const BASE_PATH = "/v1"
const MAX_BODY_BYTES = 33_554_432
const HEADER_NAME = "x-simulated-upstream"
const HEADERS = { [HEADER_NAME]: "true" }

/** Returns the `base_url` of the upstream on this port. */
export const addressOf = (port: number): string => `http://127.0.0.1:${port}${BASE_PATH}`

/** Returns whether a response came from a simulated upstream. */
export const isSimulated = (headers: Headers): boolean => headers.has(HEADER_NAME)

/** Starts the simulated upstream, which runs until the scope closes. */
export const start = ({
  pace = 1,
  port = 0
}: SimulationOptions = {}): Effect.Effect<SimulatedUpstream, never, Scope.Scope | TokenCounter> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntime<TokenCounter>()
    const protocols = [
      SimulatedChat.make(new PromptMemory()),
      SimulatedMessages.make(new PromptMemory()),
      SimulatedMessages.makeCount(),
      SimulatedResponses.make(new PromptMemory()),
      SimulatedEmbeddings.make(),
      SimulatedImages.makeGenerations(),
      SimulatedImages.makeEdits()
    ]
    const listening = Effect.async<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((request, response) => {
        const fiber = run(serve(request, response, protocols, pace))
        response.once("close", () => fiber.unsafeInterruptAsFork(fiber.id()))
      })
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
    const bound = typeof address === "object" && address !== null ? address.port : port
    return { baseUrl: addressOf(bound) }
  })

/**
 * Runs one simulated upstream on a fixed port for all servers of this machine, so that its URL in a catalog stays
 * valid. If another program uses the port, the simulated upstream selects a free port.
 */
export const startOrJoin = (
  options: SimulationOptions & { readonly port: number }
): Effect.Effect<SimulatedUpstream, never, Scope.Scope | TokenCounter> =>
  SharedServer.startOrJoin({
    port: options.port,
    start: (port) => start({ ...options, port }),
    address: addressOf(options.port),
    isOurs: isSimulated,
    joined: { baseUrl: addressOf(options.port) }
  })

const serve = (
  request: IncomingMessage,
  response: ServerResponse,
  protocols: ReadonlyArray<SimulatedProtocol>,
  pace: number
) =>
  respond(request, protocols).pipe(
    Effect.flatMap((simulated) => write(response, simulated, pace)),
    Effect.catchTag("SimulatedRefusal", (refusal) => Effect.sync(() => refuse(response, refusal)))
  )

const respond = (
  request: IncomingMessage,
  protocols: ReadonlyArray<SimulatedProtocol>
): Effect.Effect<SimulatedResponse, SimulatedRefusal, TokenCounter> =>
  Effect.gen(function* () {
    const path = request.url?.split("?")[0]
    const protocol = protocols.find((each) => path === BASE_PATH + each.path)
    if (protocol === undefined) return yield* refusal(404, `there is no path ${path}`)
    if (request.method !== "POST") return yield* refusal(405, "the method must be POST")
    if (!request.headers.authorization && !request.headers["x-api-key"])
      return yield* refusal(401, "the API key is missing")
    const isForm = request.headers["content-type"]?.startsWith("multipart/form-data") === true
    return yield* protocol.respond(yield* isForm ? readForm(request) : readJson(request))
  })

const refusal = (status: number, message: string) => new SimulatedRefusal({ status, message, param: null })

const readJson = (request: IncomingMessage): Effect.Effect<JsonObject, SimulatedRefusal> =>
  Effect.gen(function* () {
    const body = yield* readBody(request)
    const json = yield* Effect.try({
      try: () => asObject(JSON.parse(body.toString("utf8"))),
      catch: () => refusal(400, "the body is not JSON")
    })
    return json ?? (yield* refusal(400, "the body is not a JSON object"))
  })

/** Reads the text fields of a form, and the type and size of its files. */
const readForm = (request: IncomingMessage): Effect.Effect<JsonObject, SimulatedRefusal> =>
  Effect.gen(function* () {
    const body = yield* readBody(request)
    const headers = { "content-type": request.headers["content-type"] ?? "" }
    const form = yield* Effect.tryPromise({
      try: () => new Response(new Uint8Array(body), { headers }).formData(),
      catch: () => refusal(400, "the body is not a form")
    })
    return Object.fromEntries(
      [...form].map(([name, value]) => [
        name,
        typeof value === "string" ? value : { type: value.type, size: value.size }
      ])
    )
  })

const readBody = (request: IncomingMessage): Effect.Effect<Buffer, SimulatedRefusal> =>
  Effect.async((resume) => {
    const pieces: Array<Buffer> = []
    let length = 0
    request.on("data", (piece: Buffer) => {
      length += piece.length
      if (length > MAX_BODY_BYTES) resume(refusal(413, "the body is too large"))
      else pieces.push(piece)
    })
    request.on("end", () => resume(Effect.succeed(Buffer.concat(pieces))))
  })

const write = (response: ServerResponse, simulated: SimulatedResponse, pace: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (simulated._tag === "Whole") {
      yield* pause(simulated.afterMillis * pace)
      response.writeHead(200, { ...HEADERS, "content-type": "application/json" }).end(JSON.stringify(simulated.body))
      return
    }
    response.writeHead(200, {
      ...HEADERS,
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache"
    })
    for (const { afterMillis, text } of simulated.frames) {
      yield* pause(afterMillis * pace)
      if (!response.write(text)) yield* drained(response)
    }
    response.end()
  })

const pause = (millis: number): Effect.Effect<void> => (millis > 0 ? Effect.sleep(millis) : Effect.void)

const drained = (response: ServerResponse): Effect.Effect<void> =>
  Effect.async((resume) => {
    response.once("drain", () => resume(Effect.void))
  })

/** Writes an error body that the clients of all protocols can read. */
const refuse = (response: ServerResponse, { status, message, param }: SimulatedRefusal): void => {
  const error = { message: `simulated upstream: ${message}`, type: "invalid_request_error", param, code: null }
  response
    .writeHead(status, { ...HEADERS, "content-type": "application/json" })
    .end(JSON.stringify({ type: "error", error }))
}
