import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgNotifications from "@tollgate/adapters-postgres/client/PgNotifications"
import { CATALOG_CHANNEL, KEYS_CHANNEL } from "@tollgate/adapters-postgres/client/PgNotifications"
import { PgSettings } from "@tollgate/adapters-postgres/client/PgSettings"
import { Context, Effect, Layer } from "effect"
import * as TestDatabase from "../../support/TestDatabase.ts"
import { Cable } from "./Cable.ts"

/** Starts a listener behind a cable (a proxy to the database), and records its notifications. */
const aListener = Effect.gen(function* () {
  const cable = yield* Cable.scoped((yield* TestDatabase.TestDatabase).settings)
  const built = yield* Layer.build(
    PgNotifications.layer({ probeMillis: 500, retryMillis: 20 }).pipe(
      Layer.provide(Layer.succeed(PgSettings, { ...cable.settings, connectionTimeoutMillis: 2_000 }))
    )
  )
  const notifications = Context.get(built, PgNotifications.PgNotifications)
  const received: Array<string> = []
  yield* notifications.subscribe(KEYS_CHANNEL, {
    notified: (payload) => received.push(payload),
    missed: () => received.push("missed")
  })
  return { cable, received, listening: notifications.listening }
})

const until = (isMet: () => boolean) =>
  Effect.repeat(Effect.delay(Effect.sync(isMet), "5 millis"), { until: (yes) => yes }).pipe(
    Effect.timeout("60 seconds")
  )

const notify = (channel: string, payload: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT pg_notify(${channel}, ${payload})`)

describe("notifications in Postgres", () => {
  layer(TestDatabase.layer, { excludeTestServices: true })((it) => {
    it.scoped("reach the subscribers of their channel", () =>
      Effect.gen(function* () {
        const { received, listening } = yield* aListener
        yield* until(listening)
        yield* notify(CATALOG_CHANNEL, "for others")
        yield* notify(KEYS_CHANNEL, "one")
        yield* notify(KEYS_CHANNEL, "two")
        yield* until(() => received.includes("two"))
        expect(received).toEqual(["missed", "one", "two"])
      })
    )

    for (const [fault, causeFault] of [
      ["is cut", (cable: Cable) => cable.cut()],
      ["hangs without an error", (cable: Cable) => cable.freeze()]
    ] as const) {
      it.scoped(`are reported as missed when the connection ${fault}`, () =>
        Effect.gen(function* () {
          const { cable, received, listening } = yield* aListener
          yield* until(listening)
          causeFault(cable)
          yield* until(() => !listening())
          expect(received).toEqual(["missed", "missed"])
          yield* notify(KEYS_CHANNEL, "missed by the listener")
          cable.cut()
          cable.mend()
          yield* until(listening)
          yield* notify(KEYS_CHANNEL, "again")
          yield* until(() => received.includes("again"))
          expect(received).toEqual(["missed", "missed", "missed", "again"])
        })
      )
    }
  })
})
