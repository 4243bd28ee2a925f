/**
 * The snapshot of the catalog this process serves from: read again when somebody says that it changed, and now and then
 * in case nobody could. With the database away the last one stays.
 */
import { Catalogs, CurrentCatalog, type StoredCatalog } from "@tollgate/application/catalog/Catalogs"
import type { Catalog } from "@tollgate/domain/catalog/Catalog"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import { CATALOG_CHANNEL, PgNotifications } from "../client/PgNotifications.ts"

export interface CurrentCatalogOptions {
  /** How often to look without having been told. */
  readonly pollMillis: number
}

export const defaults: CurrentCatalogOptions = { pollMillis: 60_000 }

const LOAD_WITHIN = "10 seconds"
const RETRY_AFTER = "1 second"

export const layer = ({
  pollMillis
}: CurrentCatalogOptions = defaults): Layer.Layer<CurrentCatalog, never, Catalogs | PgNotifications> =>
  Layer.scoped(
    CurrentCatalog,
    Effect.gen(function* () {
      const catalogs = yield* Catalogs
      const notifications = yield* PgNotifications
      const wanted = yield* Queue.sliding<void>(1)
      const look = () => void wanted.unsafeOffer(undefined)

      // Subscribed before the first reading, so that no change falls between the two.
      yield* notifications.subscribe(CATALOG_CHANNEL, { notified: look, missed: look })
      let current = fromStored(yield* catalogs.load)

      const refresh = Effect.gen(function* () {
        const next = fromStored(yield* Effect.timeout(catalogs.load, LOAD_WITHIN))
        if (next.version === current.version) return
        current = next
        yield* Effect.logInfo("serving another catalog").pipe(Effect.annotateLogs({ version: next.version }))
      })
      yield* Queue.take(wanted).pipe(
        Effect.zipRight(refresh),
        Effect.catchAllCause((cause) =>
          Effect.logWarning("the catalog could not be read; the last one stays", cause).pipe(
            Effect.zipRight(Effect.sleep(RETRY_AFTER)),
            Effect.zipRight(Effect.sync(look))
          )
        ),
        Effect.forever,
        Effect.forkScoped
      )
      yield* Effect.sync(look).pipe(Effect.repeat(Schedule.spaced(pollMillis)), Effect.forkScoped)

      return { get: () => current }
    })
  )

const fromStored = ({ version, models, providers }: StoredCatalog): Catalog => ({
  version,
  models: new Map(models.map((model) => [model.publicName, model])),
  providers: new Map(providers.map((provider) => [provider.name, provider]))
})
