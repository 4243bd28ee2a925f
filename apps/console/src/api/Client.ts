/**
 * The client of the gateway's API. The types of requests and responses come from the OpenAPI document of the gateway.
 * The client adds the credential of the session to a request without another credential, and ends the session when the
 * gateway refuses the credential.
 */
import createClient from "openapi-fetch"
import type { paths } from "../../dist/types/GatewayApi.d.ts"
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
 * Returns a function that sends a request with a timeout. A request that gets no response fails with the code
 * `no_response`, unless the caller has aborted the request.
 */
const sendWithin =
  (timeoutMillis: number) =>
  async (request: Request): Promise<Response> => {
    const sent = credential()
    if (sent !== undefined && !request.headers.has("authorization"))
      request.headers.set("authorization", `Bearer ${sent}`)
    try {
      return await fetch(request, {
        signal: AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMillis)]),
        cache: "no-store",
        credentials: "omit"
      })
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

/** Returns the body of a successful response. Throws a {@link Problem} for any other response. */
export const bodyOf = async <A>(exchange: Promise<Exchange<A>>): Promise<NonNullable<A>> => {
  const { data, error, response } = await exchange
  if (response.ok && data !== undefined && data !== null) return data
  throw refused(response, error)
}

const refused = (response: Response, body: unknown): Problem => {
  const problem = problemOf(response, body)
  const isOfSession = response.url.includes("/api/reseller/auth/login") === false
  if (problem.status === 401 && isOfSession && $session.get() !== undefined) closeSession("expired")
  return problem
}

/** Downloads a CSV file of the gateway. The credential is sent in a header, so it is not in a URL that could leak. */
export const download = async (path: string, query: Readonly<Record<string, string>>): Promise<void> => {
  const parameters = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""))
  const headers = { authorization: `Bearer ${credential() ?? ""}` }
  // A file has no maximum length, so the download has no timeout.
  const response = await fetch(`${path}?${parameters}`, { headers, cache: "no-store" }).catch(() => {
    throw new Problem(0, NO_RESPONSE, "")
  })
  if (!response.ok) throw refused(response, await response.json().catch(() => undefined))
  const url = URL.createObjectURL(await response.blob())
  const link = document.createElement("a")
  link.href = url
  link.download = path.slice(path.lastIndexOf("/") + 1)
  link.click()
  URL.revokeObjectURL(url)
}
