/**
 * Sends each webhook of the simulator once. A failed webhook is not retried.
 */
import * as Effect from "effect/Effect"
import type { SimulatedWebhook } from "./payment/SimulatedProvider.ts"

const TIMEOUT_MILLIS = 3_000
const MAX_CONCURRENT_DELIVERIES = 8

/** The result of sending one webhook, for the control page and for programs. */
export interface Delivered {
  readonly url: string
  /** The HTTP status of the response; undefined if the connection failed or no response arrived before the timeout. */
  readonly status: number | undefined
}

export type Deliver = (url: string, webhook: SimulatedWebhook) => Effect.Effect<Delivered>

/**
 * Makes the function that sends webhooks. The function never fails, because the state of a payment does not depend on
 * its webhook.
 */
export const makeDelivery: Effect.Effect<Deliver> = Effect.gen(function* () {
  const turns = yield* Effect.makeSemaphore(MAX_CONCURRENT_DELIVERIES)
  return (url, webhook) =>
    post(url, webhook).pipe(
      Effect.map((status) => ({ url, status })),
      Effect.orElseSucceed(() => ({ url, status: undefined })),
      turns.withPermits(1)
    )
})

const post = (url: string, { body, headers }: SimulatedWebhook) =>
  Effect.tryPromise(async (interrupted) => {
    const signal = AbortSignal.any([interrupted, AbortSignal.timeout(TIMEOUT_MILLIS)])
    const response = await fetch(url, { method: "POST", redirect: "manual", headers, body, signal })
    await response.body?.cancel()
    return response.status
  })
