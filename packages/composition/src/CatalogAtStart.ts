/**
 * Applies a catalog at server start, before the server accepts any request.
 */
import { Catalogs, CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { type CatalogTerms, parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import type { Operator } from "@tollgate/domain/operations/Operation"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { StartFailed } from "./StartFailed.ts"
import { readCatalogJson } from "./TextFile.ts"

/** Applies a catalog, and waits until the catalog in the memory of this process has the new version. */
export const applyCatalog = (terms: CatalogTerms, operator: Operator) =>
  Effect.gen(function* () {
    const change = yield* (yield* Catalogs).apply(terms, operator)
    const current = yield* CurrentCatalog
    yield* Effect.repeat(
      Effect.sync(() => current.get().version >= change.version),
      { until: (isCurrent) => isCurrent, schedule: Schedule.spaced("10 millis") }
    )
    yield* Effect.logInfo("catalog applied", change)
  })

/** Applies the catalog file at this path, which is the value of CATALOG_FILE. */
export const applyCatalogFile = (path: string) =>
  Effect.gen(function* () {
    const unusable = (problem: string) => new StartFailed({ message: `CATALOG_FILE ${problem}` })
    const json = yield* Effect.tryPromise({
      try: () => readCatalogJson(path),
      catch: (error) => unusable(`${path}: ${error instanceof Error ? error.message : String(error)}`)
    })
    const terms = yield* Effect.mapError(json, unusable).pipe(
      Effect.flatMap((file) =>
        // An error must be one line, but the issues can quote the file with its line breaks.
        Effect.mapError(parseCatalogFile(file), ({ issues }) =>
          unusable(`${path}: ${issues.join("; ").replace(/\s+/g, " ")}`)
        )
      )
    )
    yield* applyCatalog(terms, { actor: "server", reason: "CATALOG_FILE at start" })
  })
