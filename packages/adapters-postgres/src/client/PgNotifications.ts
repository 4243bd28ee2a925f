/**
 * What other nodes say, heard over one connection that does nothing but LISTEN.
 *
 * Nothing is repeated for those who were not listening, so subscribers are told whenever something may have been
 * missed: when the connection is lost and again when there is a new one. It is asked for a sign of life every few
 * seconds, because a connection can die without a word.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Pg from "pg"
import { CATALOG_CHANNEL, KEYS_CHANNEL } from "./Channels.ts"
import { PgSettings } from "./PgSettings.ts"

export interface Subscriber {
  readonly notified: (payload: string) => void
  /** Anything may have happened. */
  readonly missed: () => void
}

export class PgNotifications extends Context.Tag("@tollgate/adapters-postgres/PgNotifications")<
  PgNotifications,
  {
    /** Whether notifications arrive at the moment. */
    readonly listening: () => boolean
    readonly subscribe: (channel: string, subscriber: Subscriber) => Effect.Effect<void, never, Scope.Scope>
  }
>() {}

export interface NotificationsOptions {
  readonly signOfLifeMillis: number
  readonly retryMillis: number
}

export const defaults: NotificationsOptions = { signOfLifeMillis: 5_000, retryMillis: 500 }

const CHANNELS = [KEYS_CHANNEL, CATALOG_CHANNEL]

const make = ({ signOfLifeMillis, retryMillis }: NotificationsOptions) =>
  Effect.gen(function* () {
    const settings = yield* PgSettings
    const subscribers = new Map<Subscriber, string>()
    let listening = false

    const setListening = (now: boolean) =>
      Effect.sync(() => {
        listening = now
        for (const subscriber of subscribers.keys()) subscriber.missed()
      })

    const listen = Effect.gen(function* () {
      const client = yield* Effect.acquireRelease(
        Effect.sync(() => new Pg.Client({ ...settings, query_timeout: signOfLifeMillis })),
        // Says goodbye without waiting for an answer.
        (client) => Effect.sync(() => void client.end().catch(() => {}))
      )
      const lost = Effect.async<never, unknown>((resume) => {
        client.on("error", (error) => resume(Effect.fail(error)))
        client.on("end", () => resume(Effect.fail("the connection was closed")))
      })
      client.on("notification", ({ channel, payload }) => {
        for (const [subscriber, wanted] of subscribers) if (wanted === channel) subscriber.notified(payload ?? "")
      })
      const ask = (text: string) => Effect.tryPromise({ try: () => client.query(text), catch: (error) => error })
      const alive = Effect.repeat(ask("SELECT 1"), Schedule.spaced(signOfLifeMillis))
      const stay = Effect.gen(function* () {
        yield* Effect.tryPromise({ try: () => client.connect(), catch: (error) => error })
        yield* Effect.forEach(CHANNELS, (channel) => ask(`LISTEN ${channel}`))
        yield* Effect.acquireRelease(setListening(true), () => setListening(false))
        return yield* alive
      })
      return yield* Effect.raceFirst(lost, stay)
    }).pipe(Effect.scoped)

    yield* listen.pipe(
      Effect.catchAllCause((cause) => Effect.logDebug("notifications are interrupted", cause)),
      Effect.repeat(Schedule.jittered(Schedule.spaced(retryMillis))),
      Effect.forkScoped
    )

    return PgNotifications.of({
      listening: () => listening,
      subscribe: (channel, subscriber) =>
        Effect.acquireRelease(
          Effect.sync(() => subscribers.set(subscriber, channel)),
          () => Effect.sync(() => subscribers.delete(subscriber))
        )
    })
  })

export const layer = (options: Partial<NotificationsOptions> = {}): Layer.Layer<PgNotifications, never, PgSettings> =>
  Layer.scoped(PgNotifications, make({ ...defaults, ...options }))
