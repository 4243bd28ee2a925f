/**
 * Notifications between nodes through LISTEN and NOTIFY, over one connection that does nothing else.
 *
 * A notification is a hint to read again, never the fact itself. Postgres does not repeat notifications for a listener
 * that was away, so subscribers are informed whenever some may have been missed: when the connection is lost, and again
 * when there is a new one. The connection is probed every few seconds, because it can die without an error.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Pg from "pg"
import { PgSettings } from "./PgSettings.ts"

/** A key was made or revoked; the payload is its public id. */
export const KEYS_CHANNEL = "tollgate_keys"

/** The catalog changed; the payload is its version. */
export const CATALOG_CHANNEL = "tollgate_catalog"

export interface Subscriber {
  readonly notified: (payload: string) => void
  /** Notifications may have been missed, so the subscriber must read the current state again. */
  readonly missed: () => void
}

export class PgNotifications extends Context.Tag("@tollgate/adapters-postgres/PgNotifications")<
  PgNotifications,
  {
    /** Whether the connection listens now. */
    readonly listening: () => boolean
    readonly subscribe: (channel: string, subscriber: Subscriber) => Effect.Effect<void, never, Scope.Scope>
  }
>() {}

export interface NotificationsOptions {
  readonly probeMillis: number
  readonly retryMillis: number
}

export const defaults: NotificationsOptions = { probeMillis: 5_000, retryMillis: 500 }

const CHANNELS = [KEYS_CHANNEL, CATALOG_CHANNEL]

const make = ({ probeMillis, retryMillis }: NotificationsOptions) =>
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
        Effect.sync(() => new Pg.Client({ ...settings, query_timeout: probeMillis })),
        // The server may be gone, so the end of the connection is not awaited.
        (client) => Effect.sync(() => void client.end().catch(() => {}))
      )
      const lost = Effect.async<never, unknown>((resume) => {
        client.on("error", (error) => resume(Effect.fail(error)))
        client.on("end", () => resume(Effect.fail("the connection was closed")))
      })
      client.on("notification", ({ channel, payload }) => {
        for (const [subscriber, wanted] of subscribers) if (wanted === channel) subscriber.notified(payload ?? "")
      })
      const query = (text: string) => Effect.tryPromise({ try: () => client.query(text), catch: (error) => error })
      const probe = Effect.repeat(query("SELECT 1"), Schedule.spaced(probeMillis))
      const session = Effect.gen(function* () {
        yield* Effect.tryPromise({ try: () => client.connect(), catch: (error) => error })
        yield* Effect.forEach(CHANNELS, (channel) => query(`LISTEN ${channel}`))
        yield* Effect.acquireRelease(setListening(true), () => setListening(false))
        return yield* probe
      })
      return yield* Effect.raceFirst(lost, session)
    }).pipe(Effect.scoped)

    yield* listen.pipe(
      Effect.catchAllCause((cause) => Effect.logDebug("the notification connection was lost; reconnecting", cause)),
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
