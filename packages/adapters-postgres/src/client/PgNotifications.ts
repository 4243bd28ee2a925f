/**
 * Receives the Postgres notifications that nodes and the command line send, through LISTEN on one dedicated connection.
 *
 * A notification does not contain the new state. It tells a subscriber that its copy is outdated. Postgres does not
 * repeat notifications for a listener that was disconnected. Subscribers are therefore also called when the connection
 * is lost, and when a new connection starts to listen. The connection is probed every few seconds, because it can fail
 * without an error.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Pg from "pg"
import { PgSettings } from "./PgSettings.ts"

/**
 * Channel for API keys that are created or revoked, or whose limits change. The payload is the public id of the key.
 */
export const KEYS_CHANNEL = "tollgate_keys"

/** Channel for catalog changes. The payload is the new catalog version. */
export const CATALOG_CHANNEL = "tollgate_catalog"

export interface Subscriber {
  readonly notified: (payload: string) => void
  /**
   * Called when notifications may have been missed. The subscriber must then discard its copy or read the current state
   * again.
   */
  readonly missed: () => void
}

export class PgNotifications extends Context.Tag("@tollgate/adapters-postgres/PgNotifications")<
  PgNotifications,
  {
    /** Returns whether the connection is open and listening. */
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
        // The database may be unreachable, so the finalizer does not wait until the connection is closed.
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
