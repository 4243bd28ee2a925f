/**
 * Refuses a login or a signup as soon as its headers have arrived, if its client cannot get a place in the hashing
 * queue.
 *
 * The handler would refuse the request with the same error, but only after its body was read and validated. During a
 * flood of logins from many addresses, reading and validating the bodies doubled the latency of chats.
 *
 * A request takes its place only after its body was read. Therefore the requests that arrived shortly before are
 * expected to take a place first. Otherwise all requests that arrive together would reach the handler even if only one
 * place is free.
 */
import type { IncomingMessage } from "node:http"
import { type HashingQueue, PasswordHasher } from "@tollgate/application/reseller/PasswordHasher"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Effect from "effect/Effect"
import { clientAddressOf, TrustedProxies } from "../http/TrustedProxies.ts"
import type { WireErrorBody } from "../wire/InferenceErrors.ts"
import { resellerErrorBody } from "../wire/ResellerErrors.ts"
import { logIn, signUp } from "./Authentication.ts"

/** The time after its arrival within which a request is expected to take its place. */
const EXPECTED_MILLIS = 50

/** Counts the requests that were not refused since the beginning of the current interval of {@link EXPECTED_MILLIS}. */
class Arrivals {
  readonly queue: HashingQueue
  #since = 0
  #count = 0

  constructor(queue: HashingQueue) {
    this.queue = queue
  }

  countRecent(): number {
    const now = performance.now()
    if (now - this.#since >= EXPECTED_MILLIS) {
      this.#since = now
      this.#count = 0
    }
    return this.#count
  }

  add(): void {
    this.#count += 1
  }
}

/** Returns the refusal of a request to this path, or undefined if the request can be handled. */
export type HashingRefusal = (request: IncomingMessage, path: string, requestId: RequestId) => WireErrorBody | undefined

export const make: Effect.Effect<HashingRefusal, never, PasswordHasher | TrustedProxies> = Effect.gen(function* () {
  const hasher = yield* PasswordHasher
  const proxies = yield* TrustedProxies
  const arrivalsAt: ReadonlyMap<string, Arrivals> = new Map([
    [logIn.path, new Arrivals("login")],
    [signUp.path, new Arrivals("signup")]
  ])
  return (request, path, requestId) => {
    const arrivals = request.method === "POST" ? arrivalsAt.get(path) : undefined
    if (arrivals === undefined) return undefined
    const error = hasher.refusalFor(arrivals.queue, clientAddressOf(request, proxies), arrivals.countRecent())
    if (error === undefined) {
      arrivals.add()
      return undefined
    }
    const { body, ...refusal } = resellerErrorBody(error, requestId)
    return { ...refusal, body: JSON.stringify(body) }
  }
})
