/**
 * Sends JSON requests to one payment provider over HTTP. The duration of a call and the size of a response are limited,
 * and redirects are not followed.
 *
 * A repeatable call is retried once within its timeout if the provider is down, overloaded or unreachable. A
 * `ProviderUnavailable` states its kind, and whether the provider may have processed the request although the call
 * failed.
 */
import { ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import type { BreakerSettings } from "@tollgate/domain/inference/Breaker"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { Pool } from "undici"
import { makeHostLookup } from "../../connection/HostLookup.ts"
import { safeConnector } from "../../connection/SafeConnector.ts"
import * as ExactJson from "./ExactJson.ts"
import { isOutage, type PaymentFailures } from "./PaymentFailures.ts"
import * as PaymentGate from "./PaymentGate.ts"

export interface PaymentLimits {
  /** The timeout of a call, including its retry. */
  readonly timeoutMillis: number
  readonly retryPauseMillis: number
  readonly maxResponseBytes: number
  readonly maxConcurrentCalls: number
  readonly breaker: BreakerSettings
  /** Returns the time of a monotonic clock, in milliseconds. */
  readonly nowMillis: () => number
}

export const defaultLimits: PaymentLimits = {
  // This timeout is shorter than the timeout of the use case that refreshes an order. If the use case ended the call
  // first, the call would be interrupted, and the breaker would not count it as a failure of a slow provider.
  timeoutMillis: 7_000,
  retryPauseMillis: 250,
  maxResponseBytes: 262_144,
  maxConcurrentCalls: 64,
  breaker: { failures: 5, windowMillis: 30_000, openMillis: 30_000 },
  nowMillis: () => performance.now()
}

export interface PaymentHttpOptions {
  readonly baseUrl: string
  /** The header that authenticates every call to the provider. */
  readonly credential: { readonly name: string; readonly value: Redacted.Redacted<string> }
  readonly failures: PaymentFailures
  readonly limits?: Partial<PaymentLimits> | undefined
}

export interface PaymentResponse {
  /** The HTTP status: 2xx, or 4xx except 401, 403 and 429. */
  readonly status: number
  /** The response body, parsed with {@link ExactJson}: every number is a string. */
  readonly body: unknown
}

export interface PaymentCall<A, E> {
  readonly method: "GET" | "POST"
  /** The path after the base URL, with the query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: ExactJson.Written
  /** True if sending the request twice has no harmful effect. */
  readonly repeatable: boolean
  /**
   * Decodes the response. The function can return a failure even for a successful HTTP status, because some providers
   * report failures with such a status.
   */
  readonly read: (response: PaymentResponse) => Either.Either<A, E | ProviderUnavailable>
}

export interface PaymentHttp {
  readonly call: <A, E = never>(call: PaymentCall<A, E>) => Effect.Effect<A, E | ProviderUnavailable>
}

const CONNECT_MILLIS = 3_000
const IDLE_CONNECTION_MILLIS = 4_000

export const make = ({
  baseUrl,
  credential,
  failures,
  limits: given
}: PaymentHttpOptions): Effect.Effect<PaymentHttp, never, Scope.Scope> =>
  Effect.gen(function* () {
    const limits = { ...defaultLimits, ...given }
    const { origin, pathname } = new URL(baseUrl)
    const basePath = pathname.replace(/\/+$/, "")
    const gate = PaymentGate.make(failures, limits)
    const pool = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new Pool(origin, {
            // Each call has its own connection, so that no call waits for another call within its timeout.
            connections: limits.maxConcurrentCalls,
            keepAliveTimeout: IDLE_CONNECTION_MILLIS,
            headersTimeout: 0,
            bodyTimeout: 0,
            connect: safeConnector({
              timeout: Math.min(CONNECT_MILLIS, limits.timeoutMillis),
              lookup: makeHostLookup()
            })
          })
      ),
      (pool) => Effect.promise(() => pool.destroy())
    )

    const exchange = <A, E>({ method, path, headers, body }: PaymentCall<A, E>) =>
      Effect.tryPromise({
        try: async (signal) => {
          const response = await pool.request({
            method,
            path: basePath + path,
            headers: {
              accept: "application/json",
              "accept-encoding": "identity",
              "user-agent": "tollgate",
              ...(body === undefined ? {} : { "content-type": "application/json" }),
              ...headers,
              [credential.name]: Redacted.value(credential.value)
            },
            body: body === undefined ? null : ExactJson.write(body),
            signal
          })
          return { status: response.statusCode, text: await textOf(response.body, limits.maxResponseBytes) }
        },
        catch: (error) => failures.unavailable("network", reasonOf(error), mayHaveArrived(error))
      })

    const attempt = <A, E>(call: PaymentCall<A, E>): Effect.Effect<A, E | ProviderUnavailable> =>
      exchange(call).pipe(
        Effect.flatMap(({ status, text }) => Either.flatMap(parseResponse(failures, status, text), call.read))
      )

    const call = <A, E = never>(call: PaymentCall<A, E>): Effect.Effect<A, E | ProviderUnavailable> =>
      Effect.suspend(() => {
        const isRead = call.method === "GET"
        // The first attempt may have had an effect even if the provider refuses the retry, so the failure stays
        // ambiguous.
        let mayHaveBeenDone = false
        const noting = attempt(call).pipe(
          Effect.tapError((error) =>
            Effect.sync(() => {
              mayHaveBeenDone ||= error instanceof ProviderUnavailable && error.ambiguous
            })
          )
        )
        return noting.pipe(
          Effect.retry({
            schedule: Schedule.spaced(limits.retryPauseMillis),
            times: call.repeatable ? 1 : 0,
            while: (error) => error instanceof ProviderUnavailable && isOutage(error)
          }),
          Effect.timeoutFail({
            duration: limits.timeoutMillis,
            onTimeout: () => failures.unavailable("timeout", `no response within ${limits.timeoutMillis} ms`, true)
          }),
          Effect.mapError((error) => {
            if (!(error instanceof ProviderUnavailable)) {
              const isAmbiguous = !isRead && mayHaveBeenDone
              return isAmbiguous ? failures.unavailable("rejected", "the retry was refused", true) : error
            }
            return failures.unavailable(error.kind, error.detail, !isRead && (error.ambiguous || mayHaveBeenDone))
          })
        )
      }).pipe((guarded) => gate.pass(guarded, call.method === "GET" ? call.path : undefined))

    return { call }
  })

/**
 * Returns a failure if the status is 3xx, 401, 403, 429 or 5xx, or if the body is too large or not JSON. Returns any
 * other response with its parsed body, for the provider's adapter.
 */
const parseResponse = (
  { unavailable }: PaymentFailures,
  status: number,
  text: string | undefined
): Either.Either<PaymentResponse, ProviderUnavailable> => {
  if (status === 429) return Either.left(unavailable("rate_limited", "status 429"))
  if (status === 401 || status === 403) return Either.left(unavailable("unauthorized", `status ${status}`))
  if (status >= 500) return Either.left(unavailable("server_error", `status ${status}`, true))
  if (status >= 300 && status < 400) return Either.left(unavailable("bad_response", `status ${status}`, true))
  const accepted = status < 300
  if (text === undefined) {
    return Either.left(unavailable("bad_response", `status ${status} with a body that is too large`, accepted))
  }
  return Either.mapBoth(ExactJson.parse(text), {
    onLeft: () => unavailable("bad_response", `status ${status} with a body that is not JSON`, accepted),
    onRight: (body) => ({ status, body })
  })
}

/** Reads the body as text; returns `undefined` if the body is larger than the limit. */
const textOf = async (body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string | undefined> => {
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""

const NEVER_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT"
])

const mayHaveArrived = (error: unknown): boolean => !NEVER_SENT.has(codeOf(error))

const reasonOf = (error: unknown): string => {
  const { name, message } = error instanceof Error ? error : { name: "failed", message: "" }
  return `${codeOf(error) || name}: ${message}`
}
