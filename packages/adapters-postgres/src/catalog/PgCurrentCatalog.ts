/**
 * Provides the copy of the catalog that this process uses. The catalog is read again after each notification of a
 * catalog change, and periodically in case a notification was lost. While the database is unavailable, the last copy
 * stays in use.
 */
import { Catalogs, CurrentCatalog, type StoredCatalog } from "@tollgate/application/catalog/Catalogs"
import type { Catalog } from "@tollgate/domain/catalog/Catalog"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import { CATALOG_CHANNEL, PgNotifications } from "../client/PgNotifications.ts"

export interface CurrentCatalogOptions {
  /** Interval of the periodic reads, which need no notification. */
  readonly pollMillis: number
}

export const defaults: CurrentCatalogOptions = { pollMillis: 60_000 }

const LOAD_TIMEOUT = "10 seconds"
const RETRY_AFTER = "1 second"

export const layer = ({
  pollMillis
}: CurrentCatalogOptions = defaults): Layer.Layer<CurrentCatalog, never, Catalogs | PgNotifications> =>
  Layer.scoped(
    CurrentCatalog,
    Effect.gen(function* () {
      const catalogs = yield* Catalogs
      const notifications = yield* PgNotifications
      const requests = yield* Queue.sliding<void>(1)
      const requestRefresh = () => void requests.unsafeOffer(undefined)

      // Subscribe before the first read, so that a change after the read is not missed.
      yield* notifications.subscribe(CATALOG_CHANNEL, { notified: requestRefresh, missed: requestRefresh })
      let current = fromStored(yield* catalogs.load)

      const refresh = Effect.gen(function* () {
        const next = fromStored(yield* Effect.timeout(catalogs.load, LOAD_TIMEOUT))
        if (next.version === current.version) return
        current = next
        yield* Effect.logInfo("the server now uses a new version of the catalog").pipe(
          Effect.annotateLogs({ version: next.version })
        )
      })
      yield* Queue.take(requests).pipe(
        Effect.zipRight(refresh),
        Effect.catchAllCause((cause) =>
          Effect.logWarning("the catalog could not be read; the server still uses the last version", cause).pipe(
            Effect.zipRight(Effect.sleep(RETRY_AFTER)),
            Effect.zipRight(Effect.sync(requestRefresh))
          )
        ),
        Effect.forever,
        Effect.forkScoped
      )
      yield* Effect.sync(requestRefresh).pipe(Effect.repeat(Schedule.spaced(pollMillis)), Effect.forkScoped)

      return { get: () => current }
    })
  )

const fromStored = ({ version, models, providers }: StoredCatalog): Catalog => ({
  version,
  models: new Map(models.map((model) => [model.publicName, model])),
  providers: new Map(providers.map((provider) => [provider.name, provider]))
})
