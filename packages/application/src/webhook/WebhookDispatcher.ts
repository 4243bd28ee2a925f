/**
 * Delivers webhooks: claims the deliveries that are due, and runs their attempts concurrently.
 *
 * A round only starts attempts, so it does not wait for an endpoint that hangs. The concurrent attempts of a node are
 * limited per endpoint and per owner. Therefore the hanging endpoints of one owner do not delay the deliveries of other
 * owners. At shutdown, running attempts are interrupted. A node repeats them when their leases have ended.
 */

import type { CallResult } from "@tollgate/domain/webhook/WebhookDelivery"
import type { WebhookEndpointId } from "@tollgate/domain/webhook/WebhookEndpoint"
import { bodyOf } from "@tollgate/domain/webhook/WebhookEvent"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import { WebhookCounts } from "./WebhookCounts.ts"
import { type ClaimedDelivery, WebhookDeliveries, WebhookSender } from "./WebhookDeliveries.ts"

const MAX_ATTEMPTS = 128
const MAX_PER_ENDPOINT = 4
const MAX_PER_OWNER = 16
/**
 * The duration of the lease of a delivery. This is longer than the timeout of an attempt, so a lease ends during an
 * attempt only if the node with the lease is paused.
 */
const LEASE = Duration.seconds(60)

export class WebhookDispatcher extends Context.Tag("@tollgate/application/WebhookDispatcher")<
  WebhookDispatcher,
  {
    /** Starts the attempts that are due. Returns their number. */
    readonly startDue: Effect.Effect<number>
  }
>() {}

export const layer: Layer.Layer<WebhookDispatcher, never, WebhookDeliveries | WebhookSender> = Layer.scoped(
  WebhookDispatcher,
  Effect.gen(function* () {
    const deliveries = yield* WebhookDeliveries
    const sender = yield* WebhookSender
    const counts = yield* WebhookCounts
    const attempts = yield* FiberSet.make<void>()
    const running = new Map<WebhookEndpointId, number>()

    const begin = ({ endpointId }: ClaimedDelivery) => {
      running.set(endpointId, (running.get(endpointId) ?? 0) + 1)
      counts.running += 1
    }
    const end = ({ endpointId }: ClaimedDelivery) => {
      const left = (running.get(endpointId) ?? 1) - 1
      if (left > 0) running.set(endpointId, left)
      else running.delete(endpointId)
      counts.running -= 1
    }

    const send = ({ url, event, secrets }: ClaimedDelivery): Effect.Effect<CallResult> =>
      secrets === undefined
        ? Effect.succeed({ _tag: "NoResponse", reason: "secret_unreadable" })
        : sender.send({ url, eventId: event.id, body: bodyOf(event), secrets })

    const attempt = (claimed: ClaimedDelivery) =>
      Effect.gen(function* () {
        const result = yield* send(claimed)
        const status = yield* deliveries.record(claimed, result, yield* Random.next)
        if (Option.isNone(status)) return
        counts.outcomes[status.value === "pending" ? "retried" : status.value] += 1
        if (status.value === "failed") yield* Effect.logWarning("a webhook could not be delivered", logged(claimed))
      }).pipe(
        Effect.catchAllCause((cause) =>
          Effect.logError(
            "the result of a webhook attempt could not be recorded; the webhook is sent again",
            logged(claimed),
            cause
          )
        ),
        Effect.ensuring(Effect.sync(() => end(claimed)))
      )

    return {
      startDue: Effect.gen(function* () {
        const limit = MAX_ATTEMPTS - counts.running
        if (limit <= 0) return 0
        const limits = { limit, maxPerEndpoint: MAX_PER_ENDPOINT, maxPerOwner: MAX_PER_OWNER }
        const claimed = yield* deliveries.claim({ ...limits, running, lease: LEASE })
        for (const delivery of claimed) {
          begin(delivery)
          yield* FiberSet.run(attempts, attempt(delivery))
        }
        return claimed.length
      })
    }
  })
)

const logged = ({ id, endpointId, event }: ClaimedDelivery) => ({
  delivery: id,
  endpoint: endpointId,
  type: event.type
})
