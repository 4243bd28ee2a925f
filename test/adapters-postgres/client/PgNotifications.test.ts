import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { CATALOG_CHANNEL, KEYS_CHANNEL } from "@tollgate/adapters-postgres/client/Channels"
import * as PgNotifications from "@tollgate/adapters-postgres/client/PgNotifications"
import { PgSettings } from "@tollgate/adapters-postgres/client/PgSettings"
import { Context, Effect, Layer } from "effect"
import * as TestDatabase from "../../support/TestDatabase.ts"
import { Cable } from "./Cable.ts"

/** An ear at the end of a cable, and what it heard. */
const anEar = Effect.gen(function* () {
  const cable = yield* Cable.scoped((yield* TestDatabase.TestDatabase).settings)
  const built = yield* Layer.build(
    PgNotifications.layer({ signOfLifeMillis: 50, retryMillis: 20 }).pipe(
      Layer.provide(Layer.succeed(PgSettings, { ...cable.settings, connectionTimeoutMillis: 100 }))
    )
  )
  const notifications = Context.get(built, PgNotifications.PgNotifications)
  const heard: Array<string> = []
  yield* notifications.subscribe(KEYS_CHANNEL, {
    notified: (payload) => heard.push(payload),
    missed: () => heard.push("something")
  })
  return { cable, heard, listening: notifications.listening }
})

const until = (holds: () => boolean) =>
  Effect.repeat(Effect.delay(Effect.sync(holds), "5 millis"), { until: (yes) => yes }).pipe(Effect.timeout("5 seconds"))

const say = (channel: string, payload: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT pg_notify(${channel}, ${payload})`)

describe("notifications", () => {
  layer(TestDatabase.layer, { excludeTestServices: true })((it) => {
    it.scoped("arrive at the subscribers of their channel", () =>
      Effect.gen(function* () {
        const { heard, listening } = yield* anEar
        yield* until(listening)
        yield* say(CATALOG_CHANNEL, "for others")
        yield* say(KEYS_CHANNEL, "one")
        yield* say(KEYS_CHANNEL, "two")
        yield* until(() => heard.includes("two"))
        expect(heard).toEqual(["something", "one", "two"])
      })
    )

    for (const [accident, happen] of [
      ["is cut", (cable: Cable) => cable.cut()],
      ["dies without a word", (cable: Cable) => cable.freeze()]
    ] as const) {
      it.scoped(`may have been missed when the connection ${accident}, and are heard again afterwards`, () =>
        Effect.gen(function* () {
          const { cable, heard, listening } = yield* anEar
          yield* until(listening)
          happen(cable)
          yield* until(() => !listening())
          expect(heard).toEqual(["something", "something"])
          yield* say(KEYS_CHANNEL, "unheard")
          cable.cut()
          cable.mend()
          yield* until(listening)
          yield* say(KEYS_CHANNEL, "again")
          yield* until(() => heard.includes("again"))
          expect(heard).toEqual(["something", "something", "something", "again"])
        })
      )
    }
  })
})
