/**
 * Applies a catalog before anything is served, and waits until this process serves from it.
 */
import { Catalogs, CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import type { CatalogTerms } from "@tollgate/domain/catalog/CatalogFile"
import type { Operator } from "@tollgate/domain/operations/Operation"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

export const applyCatalog = (terms: CatalogTerms, operator: Operator) =>
  Effect.gen(function* () {
    const change = yield* (yield* Catalogs).apply(terms, operator)
    const current = yield* CurrentCatalog
    yield* Effect.repeat(
      Effect.sync(() => current.get().version >= change.version),
      { until: (seen) => seen, schedule: Schedule.spaced("10 millis") }
    )
    yield* Effect.logInfo("catalog applied", change)
  })
