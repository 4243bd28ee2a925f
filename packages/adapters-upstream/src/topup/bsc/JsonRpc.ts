/**
 * Calls one BSC node with JSON-RPC 2.0 over HTTP: one call per request, with a timeout and a maximum response size.
 * Decodes the hexadecimal numbers in responses.
 *
 * A call that fails with a connection error other than a timeout is retried once, because the node may have closed a
 * keep-alive connection. The retry is safe, because no call changes data.
 */
import type { LookupFunction } from "node:net"
import { unescape } from "node:querystring"
import type { ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { Agent, type Dispatcher, request } from "undici"
import { makeHostLookup } from "../../connection/HostLookup.ts"
import { safeConnector } from "../../connection/SafeConnector.ts"

/** The BSC nodes gave no usable result: one or more calls failed, or too few nodes are configured. */
export class RpcFailed extends Data.TaggedError("RpcFailed")<{
  readonly kind: ProviderUnavailable["kind"]
  /** The JSON-RPC error code in the response; undefined if there is none. */
  readonly code: number | undefined
  /** The text for the log. It names a node by its position in the settings, not by its URL. */
  readonly detail: string
}> {}

export interface JsonRpc {
  readonly name: string
  readonly call: <A, I>(
    method: string,
    params: ReadonlyArray<unknown>,
    result: Schema.Schema<A, I>
  ) => Effect.Effect<A, RpcFailed>
}

const CALL_TIMEOUT_MILLIS = 3_000
const MAX_RESPONSE_BYTES = 1_048_576
const MAX_HEADER_BYTES = 32_768
const MAX_CONNECTIONS = 32
const MAX_MESSAGE_CHARACTERS = 160

/** Creates the HTTP client for all BSC nodes. The default of `lookup` is the resolver of the operating system. */
export const openAgent = (lookup?: LookupFunction): Effect.Effect<Agent> =>
  Effect.sync(
    () =>
      new Agent({
        connections: MAX_CONNECTIONS,
        pipelining: 1,
        maxResponseSize: MAX_RESPONSE_BYTES,
        maxHeaderSize: MAX_HEADER_BYTES,
        connect: safeConnector({ timeout: CALL_TIMEOUT_MILLIS, lookup: makeHostLookup(lookup) })
      })
  )

const Envelope = Schema.parseJson(
  Schema.Struct({
    result: Schema.optional(Schema.Unknown),
    error: Schema.optional(Schema.NullOr(Schema.Struct({ code: Schema.Number, message: Schema.String })))
  })
)

export const make = (name: string, url: URL, dispatcher: Dispatcher): JsonRpc => {
  const { origin, pathname, search } = url
  const headers = {
    "content-type": "application/json",
    accept: "application/json",
    "accept-encoding": "identity",
    ...basicAuthorization(url)
  }
  const failed = (kind: RpcFailed["kind"], why: string, code?: number) =>
    new RpcFailed({ kind, code, detail: `${name}: ${withoutSecrets(url, why)}` })

  const exchange = (method: string, params: ReadonlyArray<unknown>) =>
    Effect.tryPromise({
      try: async (signal) => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
        const options = { method: "POST", path: pathname + search, headers, body, dispatcher, signal } as const
        const response = await request(origin, options)
        return { status: response.statusCode, text: await response.body.text() }
      },
      catch: (cause) => failed(...describeConnectionError(cause, method))
    }).pipe(
      Effect.retry({ times: 1, while: ({ kind }) => kind === "network" }),
      Effect.timeoutFail({
        duration: CALL_TIMEOUT_MILLIS,
        onTimeout: () => failed("timeout", `${method} had no response within ${CALL_TIMEOUT_MILLIS} ms`)
      })
    )

  return {
    name,
    call: (method, params, result) =>
      Effect.flatMap(exchange(method, params), ({ status, text }) => {
        const failureKind = kindOfStatus(status)
        if (failureKind !== undefined) return failed(failureKind, `${method} returned status ${status}`)
        const envelope = Schema.decodeEither(Envelope)(text)
        if (Either.isLeft(envelope)) {
          const kind = status === 200 ? "bad_response" : "rejected"
          return failed(kind, `${method} returned status ${status} and a body that is not JSON-RPC`)
        }
        const { error } = envelope.right
        if (error !== undefined && error !== null) {
          // Remove secrets before the text is cut, because a part of a key would not be recognised.
          const message = withoutSecrets(url, error.message).slice(0, MAX_MESSAGE_CHARACTERS)
          return failed("rejected", `${method} was refused: ${error.code} ${message}`, error.code)
        }
        return Schema.decodeUnknown(result)(envelope.right.result).pipe(
          Effect.mapError(() => failed("bad_response", `the result of ${method} does not have the expected form`))
        )
      })
  }
}

const kindOfStatus = (status: number): RpcFailed["kind"] | undefined => {
  if (status === 401 || status === 403) return "unauthorized"
  if (status === 429) return "rate_limited"
  return status >= 500 ? "server_error" : undefined
}

const TIMEOUTS = new Set(["UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"])

/** Maps a connection error to a failure. Uses only the error code, because the message can contain the host name. */
const describeConnectionError = (cause: unknown, method: string): [RpcFailed["kind"], string] => {
  const code = cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "broken"
  if (code === "UND_ERR_RES_EXCEEDED_MAX_SIZE") return ["bad_response", `the response to ${method} is too long`]
  return [TIMEOUTS.has(code) ? "timeout" : "network", `${method} failed: ${code}`]
}

const basicAuthorization = ({ username, password }: URL): { readonly authorization?: string } => {
  if (username === "" && password === "") return {}
  const pair = `${unescape(username)}:${unescape(password)}`
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` }
}

const MIN_SECRET_CHARACTERS = 8

/**
 * Removes access keys from an error message, because some BSC nodes repeat the URL in their messages. Long parts of the
 * URL count as keys.
 */
const withoutSecrets = (url: URL, text: string): string =>
  [...url.pathname.split("/"), ...url.searchParams.values(), ...url.host.split("."), url.username, url.password]
    .filter((piece) => piece.length >= MIN_SECRET_CHARACTERS)
    .reduce((cleaned, secret) => cleaned.replaceAll(secret, "..."), text)

/**
 * Decodes a hexadecimal number of at most 13 digits, such as a block number or a timestamp. A JavaScript number
 * represents it exactly.
 */
export const Quantity = Schema.transform(
  Schema.String.pipe(Schema.pattern(/^0x[0-9a-f]{1,13}$/i)),
  Schema.NonNegativeInt,
  { strict: true, decode: (text) => Number.parseInt(text, 16), encode: (n) => quantityOf(n) }
)

/** Decodes an unsigned 256-bit integer, as contracts return it. */
export const Word = Schema.transform(
  Schema.String.pipe(Schema.pattern(/^0x[0-9a-f]{64}$/i)),
  Schema.NonNegativeBigIntFromSelf,
  { strict: true, decode: (text) => BigInt(text), encode: (n) => `0x${n.toString(16).padStart(64, "0")}` }
)

export const quantityOf = (n: number): `0x${string}` => `0x${n.toString(16)}`
