/**
 * The requests of this node to payment providers: single-flight, limited in number, and paused between refreshes.
 *
 * A client that disconnects stops neither the opening of a payment nor a refresh that other clients wait for. Any number
 * of concurrent refreshes of one order are one request to its provider, and clients and webhooks cause at most one a
 * second for an order of real money.
 */

import type { PaymentProviderUnavailable } from "@tollgate/domain/topup/PaymentMethod"
import type { OrderId, TopUpDraft, TopUpOrder } from "@tollgate/domain/topup/TopUpOrder"
import type { AmountOutOfRange } from "@tollgate/domain/topup/TopUpRequest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { openPayment, unavailable } from "./OpenPayment.ts"
import type { PaymentProvider, PaymentProviders } from "./PaymentProviders.ts"
import { asStored, type RefreshResult, refreshFromProvider } from "./RefreshTopUp.ts"
import { type Payer, type StoredTopUp, TopUpOrders } from "./TopUpOrders.ts"

const PAUSE_NANOS = Duration.unsafeToNanos(Duration.seconds(1))
/** Above this limit an order is returned as stored, and the background task refreshes it. */
const MAX_CONCURRENT_REFRESHES = 128
const MAX_CONCURRENT_OPENINGS = 64

export class PaymentRefresher extends Context.Tag("@tollgate/application/PaymentRefresher")<
  PaymentRefresher,
  {
    readonly open: (
      provider: PaymentProvider,
      draft: TopUpDraft,
      payer: Payer
    ) => Effect.Effect<TopUpOrder, AmountOutOfRange | PaymentProviderUnavailable>
    /** For a client that waits for the credit: a credited order, or one within the pause, is returned as given. */
    readonly refresh: (stored: StoredTopUp) => Effect.Effect<TopUpOrder>
    /**
     * Without the pause, and of any order, because more money may have arrived for a credited one. Not for reads by
     * clients.
     */
    readonly refreshNow: (stored: StoredTopUp) => Effect.Effect<RefreshResult>
    /** For a report that something happened: the refresh begins after this call and after the pause. */
    readonly refreshAfterReport: (stored: StoredTopUp) => Effect.Effect<TopUpOrder>
  }
>() {}

type Flight = Deferred.Deferred<RefreshResult>
/** Synchronous, so that no other fiber runs between the lookup of a flight and the start of a new one. */
const newFlight = (): Flight => Deferred.unsafeMake(FiberId.none)

export const layer: Layer.Layer<PaymentRefresher, never, TopUpOrders | PaymentProviders> = Layer.scoped(
  PaymentRefresher,
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const own = yield* Effect.context<TopUpOrders | PaymentProviders | Scope.Scope>()
    const inFlight = new Map<OrderId, Flight>()
    /** Each begins after the refresh in flight and the pause that follows it. */
    const scheduled = new Map<OrderId, Flight>()
    const refreshedAtNanos = new Map<OrderId, bigint>()
    const orders = yield* TopUpOrders
    let openings = 0

    const begin = <A, E>(
      work: Effect.Effect<A, E, TopUpOrders | PaymentProviders | Scope.Scope>,
      result: Deferred.Deferred<A, E>
    ) =>
      Effect.interruptible(work).pipe(
        Effect.intoDeferred(result),
        Effect.mapInputContext((_: Context.Context<never>) => own),
        Effect.forkIn(scope)
      )

    const pauseLeft = ({ order }: StoredTopUp): Effect.Effect<bigint> =>
      Effect.map(Clock.currentTimeNanos, (now) => {
        for (const [id, at] of refreshedAtNanos) {
          if (now - at < PAUSE_NANOS) break
          refreshedAtNanos.delete(id)
        }
        const at = refreshedAtNanos.get(order.id)
        return at === undefined ? 0n : at + PAUSE_NANOS - now
      })

    const finished = ({ order }: StoredTopUp) =>
      Effect.map(Clock.currentTimeNanos, (now) => {
        inFlight.delete(order.id)
        if (order.simulated) return
        // Deleted first, so that the map stays in the order of the times.
        refreshedAtNanos.delete(order.id)
        refreshedAtNanos.set(order.id, now)
      })

    const refreshNow = (stored: StoredTopUp): Effect.Effect<RefreshResult> =>
      Effect.uninterruptibleMask((restore) => {
        const { order } = stored
        const current = inFlight.get(order.id)
        if (current !== undefined) return restore(Deferred.await(current))
        if (inFlight.size >= MAX_CONCURRENT_REFRESHES) return Effect.succeed(asStored(order))
        const flight = newFlight()
        inFlight.set(order.id, flight)
        const refreshed = Effect.ensuring(refreshFromProvider(stored), finished(stored))
        return Effect.zipRight(begin(refreshed, flight), restore(Deferred.await(flight)))
      })

    const afterPause = (stored: StoredTopUp, flight: Flight) => {
      const { id } = stored.order
      const unschedule = Effect.sync(() => {
        if (scheduled.get(id) === flight) scheduled.delete(id)
      })
      return Effect.gen(function* () {
        const current = inFlight.get(id)
        if (current !== undefined) yield* Effect.exit(Deferred.await(current))
        yield* Effect.sleep(Duration.nanos(yield* pauseLeft(stored)))
        yield* unschedule
        return yield* refreshNow(stored)
      }).pipe(Effect.ensuring(unschedule))
    }

    return {
      open: (provider, draft, payer) =>
        Effect.uninterruptibleMask((restore) => {
          if (openings >= MAX_CONCURRENT_OPENINGS) {
            const refused = Effect.zipRight(
              orders.abandon(draft.id, "too many payments are being opened"),
              unavailable()
            )
            return restore(refused)
          }
          openings++
          return Effect.flatMap(
            Deferred.make<TopUpOrder, AmountOutOfRange | PaymentProviderUnavailable>(),
            (opened) => {
              const opening = Effect.ensuring(
                openPayment(provider, draft, payer),
                Effect.sync(() => openings--)
              )
              return Effect.zipRight(begin(opening, opened), restore(Deferred.await(opened)))
            }
          )
        }),

      refresh: (stored) => {
        const { status } = stored.order
        if (status === "credited") return Effect.succeed(stored.order)
        if (status === "crediting") return Effect.map(refreshNow(stored), orderOf)
        return Effect.flatMap(pauseLeft(stored), (left) =>
          left > 0n && !inFlight.has(stored.order.id)
            ? Effect.succeed(stored.order)
            : Effect.map(refreshNow(stored), orderOf)
        )
      },

      refreshNow,

      refreshAfterReport: (stored) =>
        Effect.uninterruptibleMask((restore) => {
          const { order } = stored
          const next = scheduled.get(order.id)
          if (next !== undefined) return restore(Effect.map(Deferred.await(next), orderOf))
          if (scheduled.size >= MAX_CONCURRENT_REFRESHES) return Effect.succeed(order)
          const flight = newFlight()
          scheduled.set(order.id, flight)
          return Effect.zipRight(
            begin(afterPause(stored, flight), flight),
            restore(Effect.map(Deferred.await(flight), orderOf))
          )
        })
    }
  })
)

const orderOf = ({ order }: RefreshResult): TopUpOrder => order
