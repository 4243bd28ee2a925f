import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgCatalogs from "@tollgate/adapters-postgres/catalog/PgCatalogs"
import * as PgCurrentCatalog from "@tollgate/adapters-postgres/catalog/PgCurrentCatalog"
import * as PgNotifications from "@tollgate/adapters-postgres/client/PgNotifications"
import { Catalogs, CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { Context, Effect, Layer, Logger, LogLevel } from "effect"
import * as Stores from "../../support/Stores.ts"
import * as TestDatabase from "../../support/TestDatabase.ts"
import { Cable } from "../client/Cable.ts"

const HOUR = 3_600_000

/** Starts the current catalog of a node. A cable (a proxy) connects the node to the database. */
const aNode = (pollMillis: number) =>
  Effect.gen(function* () {
    const database = yield* TestDatabase.TestDatabase
    const cable = yield* Cable.scoped(database.settings)
    const built = yield* Layer.build(
      Layer.provideMerge(
        PgCurrentCatalog.layer({ pollMillis }),
        Layer.merge(PgNotifications.layer({ probeMillis: 50, retryMillis: 20 }), PgCatalogs.layer)
      ).pipe(Layer.provide(TestDatabase.clientLayer({ ...database, settings: cable.settings })))
    ).pipe(Logger.withMinimumLogLevel(LogLevel.None))
    const notifications = Context.get(built, PgNotifications.PgNotifications)
    const { get } = Context.get(built, CurrentCatalog)
    yield* until(notifications.listening)
    return { cable, get, listening: notifications.listening }
  })

const until = (holds: () => boolean) =>
  Effect.repeat(Effect.delay(Effect.sync(holds), "5 millis"), { until: (yes) => yes }).pipe(
    Effect.timeout("60 seconds")
  )

const apply = (...publicNames: ReadonlyArray<string>) =>
  Effect.flatMap(Catalogs, ({ apply }) =>
    apply(Stores.catalogOf(...publicNames.map((public_name) => ({ public_name }))), Stores.operator)
  )

describe("the current catalog", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.scoped("is read at startup", () =>
      Effect.gen(function* () {
        yield* apply("early", "old")
        const { version } = yield* apply("early")
        const { get } = yield* aNode(HOUR)
        expect(get().version).toBe(version)
        expect(get().models.get("early")?.retired).toBe(false)
        expect(get().models.get("old")?.retired).toBe(true)
        expect([...get().providers.keys()]).toEqual(["lab"])
      })
    )

    it.scoped("is replaced on two nodes when a changed file is applied", () =>
      Effect.gen(function* () {
        yield* apply("first")
        const nodes = yield* Effect.all([aNode(HOUR), aNode(HOUR)])
        const before = nodes[0].get()
        yield* apply("first")
        yield* Effect.sleep("50 millis")
        expect(nodes[0].get()).toBe(before)
        const { version } = yield* apply("second")
        for (const { get } of nodes) yield* until(() => get().version === version)
        expect(before.models.has("second")).toBe(false)
        expect(nodes[1].get().models.get("second")?.retired).toBe(false)
      })
    )

    it.scoped("stays in use during a database outage", () =>
      Effect.gen(function* () {
        const { version } = yield* apply("before")
        const { cable, get, listening } = yield* aNode(HOUR)
        cable.cut()
        yield* until(() => !listening())
        const { version: later } = yield* apply("meanwhile")
        expect(get().version).toBe(version)
        cable.mend()
        yield* until(() => get().version === later)
      })
    )

    it.scoped("is refreshed periodically without a notification", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* apply("quiet")
        const { get } = yield* aNode(20)
        const version = get().version + 1
        yield* sql`UPDATE catalog_state SET version = version + 1`
        yield* until(() => get().version === version)
      })
    )
  })
})
