/**
 * Speaks to payment providers on behalf of everybody on this node.
 *
 * What is begun here is finished here: a client that leaves neither stops the opening of a payment nor the look at an
 * order that others wait for. However many ask about one order at a time, its provider is asked once, and of real money
 * not more than once a second for those who read it or report of it.
 */

import type { OrderId } from "@tollgate/domain/topup/OrderId"
import type { AmountOutOfRange, PaymentProviderUnavailable } from "@tollgate/domain/topup/TopUpErrors"
import type { TopUpDraft, TopUpOrder } from "@tollgate/domain/topup/TopUpOrder"
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
import { type Looked, lookAtTopUp, unanswered } from "./RefreshTopUp.ts"
import { type Payer, type StoredTopUp, TopUpOrders } from "./TopUpOrders.ts"

const PAUSE_NANOS = Duration.unsafeToNanos(Duration.seconds(1))
/** At a time on this node; what is more is answered as stored, and left to the background. */
const MOST_LOOKS = 128
const MOST_OPENINGS = 64

export class PaymentRefresher extends Context.Tag("@tollgate/application/PaymentRefresher")<
  PaymentRefresher,
  {
    readonly open: (
      provider: PaymentProvider,
      draft: TopUpDraft,
      payer: Payer
    ) => Effect.Effect<TopUpOrder, AmountOutOfRange | PaymentProviderUnavailable>
    /**
     * The order after a look, for whoever waits for its credit; as given when it is credited already, or was looked at
     * just now.
     */
    readonly look: (stored: StoredTopUp) => Effect.Effect<TopUpOrder>
    /** A look at any order, a credited one too: more may have come for it. Never because somebody reads it. */
    readonly lookThrough: (stored: StoredTopUp) => Effect.Effect<Looked>
    /** The same, with a look that begins after this call: somebody says that something has happened. */
    readonly lookAgain: (stored: StoredTopUp) => Effect.Effect<TopUpOrder>
  }
>() {}

type Look = Deferred.Deferred<Looked>
/** Not an effect: between finding no look and beginning one, nobody else may get a turn. */
const newLook = (): Look => Deferred.unsafeMake(FiberId.none)

export const layer: Layer.Layer<PaymentRefresher, never, TopUpOrders | PaymentProviders> = Layer.scoped(
  PaymentRefresher,
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const own = yield* Effect.context<TopUpOrders | PaymentProviders | Scope.Scope>()
    const looks = new Map<OrderId, Look>()
    /** Looks to come, each after the one that is under way and the pause that follows it. */
    const nextLooks = new Map<OrderId, Look>()
    const lookedAtNanos = new Map<OrderId, bigint>()
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
        for (const [id, at] of lookedAtNanos) {
          if (now - at < PAUSE_NANOS) break
          lookedAtNanos.delete(id)
        }
        const at = lookedAtNanos.get(order.id)
        return at === undefined ? 0n : at + PAUSE_NANOS - now
      })

    const landed = ({ order }: StoredTopUp) =>
      Effect.map(Clock.currentTimeNanos, (now) => {
        looks.delete(order.id)
        if (order.simulated) return
        // Deleted first, so that the map stays in the order of the times.
        lookedAtNanos.delete(order.id)
        lookedAtNanos.set(order.id, now)
      })

    const lookNow = (stored: StoredTopUp): Effect.Effect<Looked> =>
      Effect.uninterruptibleMask((restore) => {
        const { order } = stored
        const underWay = looks.get(order.id)
        if (underWay !== undefined) return restore(Deferred.await(underWay))
        if (looks.size >= MOST_LOOKS) return Effect.succeed(unanswered(order))
        const look = newLook()
        looks.set(order.id, look)
        const looked = Effect.ensuring(lookAtTopUp(stored), landed(stored))
        return Effect.zipRight(begin(looked, look), restore(Deferred.await(look)))
      })

    const afterPause = (stored: StoredTopUp, look: Look) => {
      const { id } = stored.order
      const noLongerWaiting = Effect.sync(() => {
        if (nextLooks.get(id) === look) nextLooks.delete(id)
      })
      return Effect.gen(function* () {
        const underWay = looks.get(id)
        if (underWay !== undefined) yield* Effect.exit(Deferred.await(underWay))
        yield* Effect.sleep(Duration.nanos(yield* pauseLeft(stored)))
        yield* noLongerWaiting
        return yield* lookNow(stored)
      }).pipe(Effect.ensuring(noLongerWaiting))
    }

    return {
      open: (provider, draft, payer) =>
        Effect.uninterruptibleMask((restore) => {
          if (openings >= MOST_OPENINGS) {
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

      look: (stored) => {
        const { status } = stored.order
        if (status === "credited") return Effect.succeed(stored.order)
        if (status === "crediting") return Effect.map(lookNow(stored), orderOf)
        return Effect.flatMap(pauseLeft(stored), (left) =>
          left > 0n && !looks.has(stored.order.id) ? Effect.succeed(stored.order) : Effect.map(lookNow(stored), orderOf)
        )
      },

      lookThrough: lookNow,

      lookAgain: (stored) =>
        Effect.uninterruptibleMask((restore) => {
          const { order } = stored
          const waiting = nextLooks.get(order.id)
          if (waiting !== undefined) return restore(Effect.map(Deferred.await(waiting), orderOf))
          if (nextLooks.size >= MOST_LOOKS) return Effect.succeed(order)
          const look = newLook()
          nextLooks.set(order.id, look)
          return Effect.zipRight(
            begin(afterPause(stored, look), look),
            restore(Effect.map(Deferred.await(look), orderOf))
          )
        })
    }
  })
)

const orderOf = ({ order }: Looked): TopUpOrder => order
