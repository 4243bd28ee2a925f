/**
 * Opens the payments of orders, and refreshes orders. Limits this node's requests to payment providers: one refresh per
 * order at a time, a maximum number of concurrent refreshes and openings, and a pause between two refreshes of an
 * order.
 *
 * A client that disconnects stops neither the opening of a payment nor a refresh. Concurrent callers share one refresh
 * of an order, but a webhook waits for a later refresh. For an order that is not simulated, resellers and webhooks
 * cause at most one refresh per second on a node. The exception is a reseller's refresh of a `crediting` order: it
 * ignores the pause, because it sends no request to the provider.
 */
import type { Reseller, ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { PaymentProviderUnavailable } from "@tollgate/domain/topup/PaymentMethod"
import type { OrderId, TopUpDraft, TopUpOrder } from "@tollgate/domain/topup/TopUpOrder"
import type { AmountOutOfRange } from "@tollgate/domain/topup/TopUpRequest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { Shares, withinShare } from "../operations/Shares.ts"
import * as SingleFlight from "../operations/SingleFlight.ts"
import { openPayment, unavailable } from "./OpenPayment.ts"
import { type PaymentProvider, PaymentProviders } from "./PaymentProviders.ts"
import { notRefreshed, type RefreshResult, refreshOrder } from "./RefreshOrder.ts"
import { type EarlierTopUp, type StoredTopUp, TopUpOrders } from "./TopUpOrders.ts"

const PAUSE_NANOS = Duration.unsafeToNanos(Duration.seconds(1))
/**
 * The maximum number of concurrent refreshes. When a provider has used up its share, an order of this provider is
 * returned as stored. The background task refreshes the order when it is due.
 */
const MAX_CONCURRENT_REFRESHES = 128
/**
 * The maximum number of concurrent refreshes at one provider that resellers have started. A reseller gets at most half
 * of those that other resellers leave free. One reseller with many orders therefore stops neither the refreshes nor the
 * openings of the others.
 */
const MAX_CONCURRENT_RESELLER_REFRESHES = 32
/**
 * The maximum number of payments that are opened concurrently at one provider. Each provider has its own limit, so a
 * provider that hangs stops only its own openings. A reseller gets at most half of the openings that other resellers
 * leave free, so one reseller does not stop the openings of the others.
 */
const MAX_CONCURRENT_OPENINGS = 64

/** The maximum number of drafts whose opening is awaited by other requests with the same operation id. */
const MAX_AWAITED_OPENINGS = 256
/** Longer than the 20 seconds for which an opening waits for the provider. */
const AWAIT_TIMEOUT = Duration.seconds(25)
const MIN_AWAIT_PAUSE_MILLIS = 50
const MAX_AWAIT_PAUSE_MILLIS = 1_000

type OpenFailure = AmountOutOfRange | PaymentProviderUnavailable

/**
 * The cause of a refresh, which decides when the refresh begins.
 *
 * - `reseller`: returns a credited order as it is stored. Also returns an order as it is stored if its last refresh,
 *   successful or not, ended less than a second ago, except a `crediting` order, a simulated order, and an order whose
 *   refresh is running.
 * - `webhook`: waits until no refresh of the order runs and the pause has passed. A running refresh is not enough,
 *   because it may have read the payment before the change that the webhook reports.
 * - `operator`, `background`: refreshes even during the pause. Requests of resellers must not have these triggers.
 *
 * A webhook, an operator or the background task also refreshes a credited order, because more money may have arrived
 * for it.
 */
export type RefreshTrigger = "reseller" | "webhook" | "operator" | "background"

export class OrderPayments extends Context.Tag("@tollgate/application/OrderPayments")<
  OrderPayments,
  {
    /**
     * Runs `draft`, which stores a draft, and opens its payment. Fails if the reseller has used up its share of the
     * openings at this provider. After a failure, no draft is stored, or the stored draft is abandoned.
     */
    readonly open: <E, R>(
      provider: PaymentProvider,
      reseller: Pick<Reseller, "id" | "name" | "email">,
      draft: Effect.Effect<TopUpDraft, E, R>
    ) => Effect.Effect<TopUpOrder, E | OpenFailure, R>
    /**
     * Waits until another request, possibly on another node, has opened the payment of a draft. Fails if the draft is
     * abandoned, if the wait lasts 25 seconds, or if too many waits are in progress. Concurrent callers on a node share
     * one wait.
     */
    readonly awaitOpening: (earlier: EarlierTopUp) => Effect.Effect<TopUpOrder, PaymentProviderUnavailable>
    /**
     * Refreshes an order as the trigger states. Concurrent callers on this node share one refresh of the order.
     * Webhooks do not join a running refresh, but share the refresh that begins after it.
     */
    readonly refresh: (stored: StoredTopUp, trigger: RefreshTrigger) => Effect.Effect<RefreshResult>
  }
>() {}

type Ports = TopUpOrders | PaymentProviders

export const layer: Layer.Layer<OrderPayments, never, Ports> = Layer.scoped(
  OrderPayments,
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const orders = yield* TopUpOrders
    const { all: providers } = yield* PaymentProviders
    /**
     * Limits the openings, and continues an opening after its client has disconnected. No opening is shared, because
     * each has its own order id.
     */
    const openings = yield* SingleFlight.make<OrderId, TopUpOrder, OpenFailure, Ports | Scope.Scope>(
      MAX_CONCURRENT_OPENINGS * providers.length
    )
    const awaitedOpenings = yield* SingleFlight.make<OrderId, TopUpOrder, PaymentProviderUnavailable>(
      MAX_AWAITED_OPENINGS
    )
    /** The shares of resellers in the openings of each provider. */
    const openingShares = new Map(
      providers.map(({ label }) => [label, new Shares<ResellerId>(MAX_CONCURRENT_OPENINGS)])
    )
    /** The shares of providers in the refreshes. */
    const refreshShares = new Shares<string>(MAX_CONCURRENT_REFRESHES)
    const scheduleShares = new Shares<string>(MAX_CONCURRENT_REFRESHES)
    /** The shares of resellers in the refreshes at each provider that resellers have started. */
    const resellerShares = new Map(
      providers.map(({ label }) => [label, new Shares<ResellerId>(MAX_CONCURRENT_RESELLER_REFRESHES)])
    )
    const inFlight = yield* SingleFlight.make<OrderId, RefreshResult, never, Ports>(MAX_CONCURRENT_REFRESHES)
    /** The refreshes that begin after the running refresh and the pause that follows it. */
    const scheduled = yield* SingleFlight.make<OrderId, RefreshResult>(MAX_CONCURRENT_REFRESHES)
    const refreshedAtNanos = new Map<OrderId, bigint>()

    const forgetPassedPauses = (now: bigint): void => {
      for (const [id, at] of refreshedAtNanos) {
        if (now - at < PAUSE_NANOS) break
        refreshedAtNanos.delete(id)
      }
    }

    const pauseLeft = ({ order }: StoredTopUp): Effect.Effect<bigint> =>
      Effect.map(Clock.currentTimeNanos, (now) => {
        forgetPassedPauses(now)
        const at = refreshedAtNanos.get(order.id)
        return at === undefined ? 0n : at + PAUSE_NANOS - now
      })

    const startPause = ({ order }: StoredTopUp) =>
      Effect.map(Clock.currentTimeNanos, (now) => {
        forgetPassedPauses(now)
        if (order.simulated) return
        // The entry is deleted first: a new entry is at the end of the map, so the map stays ordered by time.
        refreshedAtNanos.delete(order.id)
        refreshedAtNanos.set(order.id, now)
      })

    /** Reads the order with growing pauses until its payment is open or the draft is abandoned. */
    const pollUntilOpened = (
      { draft, operationId }: EarlierTopUp,
      pauseMillis = MIN_AWAIT_PAUSE_MILLIS
    ): Effect.Effect<TopUpOrder, PaymentProviderUnavailable> =>
      Effect.flatMap(orders.ofOperation(draft.resellerId, operationId), (found) => {
        if (Option.isNone(found) || found.value.draft.id !== draft.id) return unavailable()
        const { order } = found.value
        if (order !== undefined) return Effect.succeed(order)
        const again = Effect.suspend(() =>
          pollUntilOpened(found.value, Math.min(2 * pauseMillis, MAX_AWAIT_PAUSE_MILLIS))
        )
        return Effect.delay(again, Duration.millis(pauseMillis))
      })

    const unchanged = ({ order }: StoredTopUp) => Effect.succeed(notRefreshed(order))

    const refreshWithPause = (stored: StoredTopUp) => Effect.ensuring(refreshOrder(stored), startPause(stored))

    /** Starts the refresh of an order, or joins the running refresh of this order. */
    const startOrJoin = (stored: StoredTopUp, refresh = refreshWithPause(stored)): Effect.Effect<RefreshResult> =>
      inFlight.run(
        stored.order.id,
        () => withinShare(refreshShares, stored.order.provider, refresh, unchanged(stored)),
        unchanged(stored)
      )

    /** Refreshes an order for its reseller. Returns the order as it is stored if the reseller has used up its share. */
    const refreshWithinShare = (stored: StoredTopUp) => {
      const { provider, resellerId, simulated, status } = stored.order
      const shares = simulated || status === "crediting" ? undefined : resellerShares.get(provider)
      const refresh = refreshWithPause(stored)
      return shares === undefined ? refresh : withinShare(shares, resellerId, refresh, unchanged(stored))
    }

    /** Returns whether a reseller gets the order as it is stored. */
    const mayReturnStored = (stored: StoredTopUp): Effect.Effect<boolean> => {
      const { id, status } = stored.order
      if (status === "credited" || status === "crediting") return Effect.succeed(status === "credited")
      return Effect.map(pauseLeft(stored), (left) => left > 0n && inFlight.running(id) === undefined)
    }

    /** Waits until no refresh of the order runs and the pause after the last refresh has passed. */
    const untilIdle = (stored: StoredTopUp): Effect.Effect<void> =>
      Effect.flatMap(pauseLeft(stored), (left) => {
        const current = inFlight.running(stored.order.id)
        if (current === undefined && left <= 0n) return Effect.void
        const wait = current === undefined ? Effect.sleep(Duration.nanos(left)) : Effect.exit(current)
        return Effect.zipRight(
          wait,
          Effect.suspend(() => untilIdle(stored))
        )
      })

    const startAfterPause = (stored: StoredTopUp, leave: Effect.Effect<void>) =>
      Effect.gen(function* () {
        yield* untilIdle(stored)
        // A webhook that arrives from here on starts another refresh.
        yield* leave
        // Webhooks that arrived during the wait can have stored repeated payments with the order.
        const latest = yield* orders.find(stored.order.id)
        // Another refresh of the order can have begun during this read.
        yield* untilIdle(stored)
        return yield* startOrJoin(Option.getOrElse(latest, () => stored))
      })

    return {
      // A disconnect of the client does not interrupt the storing of the draft, because the draft would then stay
      // unopened. The request stays in progress until the draft is stored, so the limit of the requests in progress
      // also limits these drafts.
      open: (provider, { id: resellerId, name, email }, draft) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const shares = openingShares.get(provider.label)
            if (shares === undefined || shares.isFullFor(resellerId)) return yield* unavailable()
            const stored = yield* draft
            const refused = Effect.zipRight(
              orders.abandon(stored.id, "too many payments are being opened"),
              unavailable()
            )
            const opening = openPayment(provider, stored, { name, email })
            const opened = openings.run(stored.id, () => withinShare(shares, resellerId, opening, refused), refused)
            return yield* restore(Fiber.join(yield* Effect.forkIn(Effect.interruptible(opened), scope)))
          })
        ),

      awaitOpening: (earlier) => {
        const opened = Effect.timeoutFail(pollUntilOpened(earlier), { duration: AWAIT_TIMEOUT, onTimeout: unavailable })
        return awaitedOpenings.run(earlier.draft.id, () => opened, unavailable())
      },

      refresh: (stored, trigger) => {
        switch (trigger) {
          case "reseller":
            return Effect.flatMap(mayReturnStored(stored), (is) =>
              is ? unchanged(stored) : startOrJoin(stored, refreshWithinShare(stored))
            )
          case "webhook": {
            const { id, provider } = stored.order
            return scheduled.run(
              id,
              (leave) => withinShare(scheduleShares, provider, startAfterPause(stored, leave), unchanged(stored)),
              unchanged(stored)
            )
          }
          case "operator":
          case "background":
            return startOrJoin(stored)
        }
      }
    }
  })
)
