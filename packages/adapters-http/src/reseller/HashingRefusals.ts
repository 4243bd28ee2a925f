/**
 * Refuses a login or a signup as soon as its headers have arrived, if its client cannot get a place in the hashing
 * queue.
 *
 * The handler would refuse the request with the same error, but only after its body was read and validated. During a
 * flood of logins from many addresses, reading and validating the bodies doubled the latency of chats.
 */
import type { IncomingMessage } from "node:http"
import { type HashingQueue, PasswordHasher } from "@tollgate/application/reseller/PasswordHasher"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Effect from "effect/Effect"
import { clientAddressOf, TrustedProxies } from "../http/TrustedProxies.ts"
import type { WireErrorBody } from "../wire/InferenceErrors.ts"
import { resellerErrorBody } from "../wire/ResellerErrors.ts"
import { logIn, signUp } from "./Authentication.ts"

const queues: ReadonlyMap<string, HashingQueue> = new Map([
  [logIn.path, "login"],
  [signUp.path, "signup"]
])

/** Returns the refusal of a request to this path, or undefined if the request can be handled. */
export type HashingRefusal = (request: IncomingMessage, path: string, requestId: RequestId) => WireErrorBody | undefined

export const make: Effect.Effect<HashingRefusal, never, PasswordHasher | TrustedProxies> = Effect.gen(function* () {
  const hasher = yield* PasswordHasher
  const proxies = yield* TrustedProxies
  return (request, path, requestId) => {
    const queue = request.method === "POST" ? queues.get(path) : undefined
    if (queue === undefined) return undefined
    const error = hasher.refusalFor(queue, clientAddressOf(request, proxies))
    if (error === undefined) return undefined
    const { body, ...refusal } = resellerErrorBody(error, requestId)
    return { ...refusal, body: JSON.stringify(body) }
  }
})
