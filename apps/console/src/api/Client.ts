/**
 * The client of the gateway's API. The types of requests and responses come from the OpenAPI document of the gateway.
 * The client adds the credential of the session to a request without another credential, and ends the session when the
 * gateway refuses the credential.
 */
import createClient from "openapi-fetch"
import type { paths } from "../../dist/types/GatewayApi.d.ts"
import { setClock } from "../state/Clock.ts"
import { $session, closeSession } from "../state/Session.ts"
import { NO_RESPONSE, Problem, problemOf } from "./Problem.ts"

const TIMEOUT_MILLIS = 20_000
/** The timeout for a request that needs much work in the gateway, such as an audit. */
const LONG_TIMEOUT_MILLIS = 600_000

const credential = (): string | undefined => {
  const session = $session.get()
  return session?.kind === "customer" ? session.key : session?.token
}

/**
 * Ends the session if the gateway refuses its credential. The refusal of an earlier credential, which can arrive late,
 * does not end the session that was opened meanwhile.
 */
const endIfRefused = (response: Response, sent: string | undefined): void => {
  if (response.status === 401 && sent !== undefined && sent === credential()) closeSession("expired")
}

/**
 * Returns a function that sends a request with a timeout. A request that gets no response fails with the code
 * `no_response`, unless the caller has aborted the request.
 */
const sendWithin =
  (timeoutMillis: number) =>
  async (request: Request): Promise<Response> => {
    const sent = request.headers.has("authorization") ? undefined : credential()
    if (sent !== undefined) request.headers.set("authorization", `Bearer ${sent}`)
    try {
      const response = await fetch(request, {
        signal: AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMillis)]),
        cache: "no-store",
        credentials: "omit"
      })
      setClock(response.headers)
      endIfRefused(response, sent)
      return response
    } catch (error) {
      if (request.signal.aborted) throw error
      throw new Problem(0, NO_RESPONSE, "")
    }
  }

const clientWithin = (timeoutMillis: number) =>
  createClient<paths>({ baseUrl: location.origin, fetch: sendWithin(timeoutMillis) })

export const api = clientWithin(TIMEOUT_MILLIS)
/** The client for requests that can take minutes. */
export const slowApi = clientWithin(LONG_TIMEOUT_MILLIS)

interface Exchange<A> {
  readonly data?: A | undefined
  readonly error?: unknown
  readonly response: Response
}

/** Reports a response that was cut off, or that is not from the gateway, like no response. */
const asNoResponse = (error: unknown): never => {
  throw error instanceof Problem ? error : new Problem(0, NO_RESPONSE, "")
}

/** Returns the body of a successful response. Throws a {@link Problem} for any other response. */
export const bodyOf = async <A>(exchange: Promise<Exchange<A>>): Promise<NonNullable<A>> => {
  const { data, error, response } = await exchange.catch(asNoResponse)
  if (response.ok && data !== undefined && data !== null) return data
  throw problemOf(response, error)
}

/** Downloads a CSV file of the gateway. The credential is sent in a header, so it is not in a URL that could leak. */
export const download = async (path: string, query: Readonly<Record<string, string>>): Promise<void> => {
  const parameters = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""))
  const sent = credential()
  const headers = { authorization: `Bearer ${sent ?? ""}` }
  // A file has no maximum length, so the download has no timeout.
  const response = await fetch(`${path}?${parameters}`, { headers, cache: "no-store" }).catch(asNoResponse)
  endIfRefused(response, sent)
  if (!response.ok) throw problemOf(response, await response.json().catch(() => undefined))
  const url = URL.createObjectURL(await response.blob().catch(asNoResponse))
  const link = document.createElement("a")
  link.href = url
  link.download = path.slice(path.lastIndexOf("/") + 1)
  link.click()
  URL.revokeObjectURL(url)
}
