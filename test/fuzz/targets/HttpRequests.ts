/**
 * The fuzz target that checks the HTTP server: an input is the bytes of a request on a socket. The server responds with
 * status 500 only on routes that need the database, which this target does not have. Every error response with another
 * status has a request id.
 */
import { connect } from "node:net"
import { isInferencePath, pathOf } from "@tollgate/adapters-http/http/SurfaceError"
import { asObject } from "@tollgate/domain/inference/Json"
import { FastCheck } from "effect"
import { FakeUpstreams } from "../../adapters-http/inference/relay/FakeUpstreams.ts"
import { catalogOf, closeGateways, KEY, startGateway } from "../../adapters-http/inference/relay/TestGateway.ts"
import { type FuzzTarget, must, type OpenTarget } from "../Target.ts"
import { jsonText, objectWith } from "./JsonText.ts"

/** Returns the response to these bytes as latin1 text; empty if there is none. */
export type Exchange = (port: number, bytes: Buffer) => Promise<string>

/**
 * The time without a byte after which the test closes a connection. The server responds to an incomplete request only
 * after its timeout.
 */
const SILENCE_MILLIS = 250

export const exchange: Exchange = (port, bytes) =>
  new Promise((resolve) => {
    let text = ""
    const socket = connect({ port, host: "127.0.0.1" })
    const end = () => {
      socket.destroy()
      resolve(text)
    }
    socket.setTimeout(SILENCE_MILLIS, end)
    socket.on("error", end)
    socket.on("close", end)
    socket.on("data", (data) => {
      text += data.toString("latin1")
      if (isWhole(text)) end()
    })
    socket.write(bytes)
  })

const LENGTH = /^content-length: (\d+)/im
const HEAD = /^HTTP\/1\.1 (\d{3})[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n/

const isWhole = (text: string): boolean => {
  const [head] = HEAD.exec(text) ?? []
  const length = LENGTH.exec(head ?? "")?.[1]
  return head !== undefined && length !== undefined && text.length >= head.length + Number(length)
}

const HEALTH = Buffer.from("GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
const HEALTH_EVERY = 100
const HEALTH_MILLIS = 5_000

const check = (send: Exchange, port: number) => {
  let inputs = 0
  return async (input: Buffer): Promise<void> => {
    inputs += 1
    checkResponse(input, await send(port, input))
    if (inputs % HEALTH_EVERY !== 0) return
    const startedAt = performance.now()
    must((await exchange(port, HEALTH)).startsWith("HTTP/1.1 200"), "/healthz fails")
    must(performance.now() - startedAt < HEALTH_MILLIS, "/healthz is slow")
  }
}

const checkResponse = (input: Buffer, text: string): void => {
  if (text === "") return
  // If the request contains `Expect: 100-continue`, an interim response comes first.
  const final = text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "")
  if (final === "") return
  const [head = "", status = ""] = HEAD.exec(final) ?? []
  must(status !== "", `the response has no head: ${final.slice(0, 200)}`)
  const [method = "", target = ""] = input.toString("latin1").split(" ")
  if (status === "500" && NEEDS_DATABASE.test(target)) return
  must(status !== "500", `the status is 500: ${final.slice(0, 400)}`)
  if (Number(status) < 400) return
  must(/^x-request-id: \S+/im.test(head), `a response with status ${status} has no request id`)
  if (method === "HEAD") return
  // A browser gets an HTML page instead of an error body.
  if (/^content-type: text\/html/im.test(head) && /accept:[^\r\n]*text\/html/i.test(input.toString("latin1"))) return
  // Bytes after the request are another request, and its response follows.
  const length = Number(LENGTH.exec(head)?.[1] ?? final.length)
  const body = bodyOf(final.slice(head.length, head.length + length))
  const error = asObject(body?.error)
  must(
    typeof error?.code === "string" && typeof error.message === "string",
    `an error without envelope: ${final.slice(0, 600)}`
  )
  must(
    !isInferencePath(pathOf(target)) || body?.request_id !== undefined || "request_id" in error,
    "the error has no request id"
  )
}

/** The gateway of this target has no database, so these routes fail after their request was read. */
const NEEDS_DATABASE = /\/api\/(reseller|payments)\b/

const bodyOf = (text: string) => {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return undefined
  }
}

const open = (send: Exchange) => async (): Promise<OpenTarget> => {
  const upstreams = new FakeUpstreams()
  const { port } = await startGateway({ catalog: catalogOf({}), upstreams: upstreams.layer })
  return {
    check: check(send, port),
    close: async () => {
      await closeGateways()
    }
  }
}

const PATHS = [
  ...[
    "/v1/chat/completions",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/responses",
    "/v1/embeddings",
    "/v1/models"
  ],
  ...[
    "/v1/models/m",
    "/v1/models/%",
    "/v1/responses/r_1",
    "/v1/images/generations",
    "/v1/images/edits",
    "/api/rankings?window=x"
  ],
  ...[
    "/api/reseller/auth/login",
    "/api/reseller/auth/signup",
    "/api/reseller/me",
    "/api/reseller/mint",
    "/api/reseller/topup"
  ],
  ...["/api/reseller/usage?limit=x&cursor=y", "/api/reseller/topups?offset=-1", "/api/reseller/customers/x/balances"],
  ...[
    "/",
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/rankings",
    "/nowhere",
    "//v1//models",
    "/%00",
    "*",
    "http://a/v1/models"
  ],
  ...[
    "/webhooks/midtrans",
    "/api/payments/tripay/webhook",
    "/v1",
    "/v1/",
    "/api",
    "/favicon.ico",
    "/..%2f..",
    "/?%zz=%"
  ]
]
const method = FastCheck.oneof(
  { weight: 4, arbitrary: FastCheck.constantFrom("GET", "POST") },
  {
    weight: 1,
    arbitrary: FastCheck.constantFrom("HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "QUERY")
  }
)
const header = FastCheck.constantFrom(
  ...[
    "host: a",
    "host: a",
    "host: a",
    `authorization: Bearer ${KEY}`,
    `x-api-key: ${KEY}`,
    "x-api-key: other",
    "authorization: Bearer a.b.c"
  ],
  ...[
    "content-type: application/json",
    "content-type: text/plain",
    "content-type: multipart/form-data; boundary=b",
    "accept: text/html"
  ],
  ...[
    "connection: close",
    "connection: upgrade\r\nupgrade: websocket",
    "expect: 100-continue",
    "expect: x",
    "transfer-encoding: chunked"
  ],
  ...[
    "content-length: 5",
    "content-length: -1",
    "content-encoding: gzip",
    "origin: https://a",
    "idempotency-key: a",
    "x: \u00e9",
    " folded"
  ]
)
const body = FastCheck.oneof(
  jsonText,
  objectWith({
    model: FastCheck.constantFrom('"m"', '"n"', "1"),
    messages: FastCheck.constantFrom('[{"role":"user","content":"hi"}]', "[]"),
    prompt: FastCheck.constant('"a cat"')
  }),
  objectWith({
    email: FastCheck.constantFrom('"a@b.example"', '"x"'),
    password: FastCheck.constant('"password"'),
    name: jsonText
  }),
  FastCheck.constantFrom("", "0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "--b\r\n\r\n\r\n--b--\r\n")
)

export const httpTarget = (send: Exchange): FuzzTarget => ({
  name: "http",
  grammar: FastCheck.tuple(
    method,
    FastCheck.constantFrom(...PATHS),
    FastCheck.array(header, { maxLength: 5 }),
    body,
    FastCheck.constantFrom(true, true, true, false)
  ).map(([method, path, headers, body, measured]) => {
    const length = measured ? [`content-length: ${Buffer.byteLength(body)}`] : []
    return Buffer.from(
      `${method} ${path} HTTP/1.1\r\n${["host: a", ...headers, ...length].join("\r\n")}\r\n\r\n${body}`
    )
  }),
  words: [
    "\r\n\r\n",
    "HTTP/1.0",
    "HTTP/9.9",
    "content-length: 1\r\n",
    "%2e",
    "host: b\r\n",
    "x-api-key: \r\n",
    "?",
    "#",
    "GET "
  ],
  testInputs: 60,
  open: open(send)
})
