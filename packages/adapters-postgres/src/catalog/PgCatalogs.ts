/**
 * Stores the catalog in Postgres. A catalog file is applied in one transaction, and only one file is applied at a time.
 * The transaction writes only the models and providers that differ from the stored ones.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { type CatalogChange, Catalogs } from "@tollgate/application/catalog/Catalogs"
import { type CatalogDifference, differenceOf } from "@tollgate/domain/catalog/CatalogDifference"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CATALOG_CHANNEL } from "../client/PgNotifications.ts"
import { transact } from "../client/Transact.ts"
import * as AuditLog from "../operations/AuditLog.ts"
import { readCatalog } from "./CatalogRows.ts"
import { retireModels, writeModels, writeProvider } from "./CatalogWrites.ts"

export const layer: Layer.Layer<Catalogs, never, SqlClient.SqlClient> = Layer.effect(
  Catalogs,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    const readOneState = sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`
    return {
      apply: (terms, operator) =>
        Effect.gen(function* () {
          // The row lock makes concurrent catalog applications run one after the other.
          yield* sql`SELECT version FROM catalog_state FOR UPDATE`
          const stored = yield* readCatalog
          const difference = differenceOf(stored, terms)
          if (isEmpty(difference)) return changeOf(stored.version, difference)

          const { models, providers } = difference
          yield* Effect.forEach(providers.upserts, ({ terms }) => writeProvider(terms), { discard: true })
          yield* writeModels(models.upserts)
          yield* retireModels(models.retirements)
          for (const { name } of providers.retirements)
            yield* sql`UPDATE provider SET retired = true WHERE name = ${name}`

          const version = stored.version + 1
          const { added, changed, retired } = difference
          yield* sql`UPDATE catalog_state SET version = ${version}`
          yield* AuditLog.record({
            operator,
            action: "catalog.apply",
            subject: "catalog",
            detail: { version, added, changed, retired }
          })
          yield* sql`SELECT pg_notify(${CATALOG_CHANNEL}, ${String(version)})`
          return changeOf(version, difference)
        }).pipe(transact, withSql),

      preview: (terms) =>
        Effect.gen(function* () {
          yield* readOneState
          const stored = yield* readCatalog
          return changeOf(stored.version, differenceOf(stored, terms))
        }).pipe(transact, withSql),

      load: Effect.gen(function* () {
        yield* readOneState
        const { providers, ...stored } = yield* readCatalog
        return {
          ...stored,
          providers: providers.flatMap(({ retired, ...provider }) => (retired ? [] : [provider]))
        }
      }).pipe(transact, withSql)
    }
  })
)

const isEmpty = ({ added, changed, retired }: CatalogDifference): boolean =>
  added.length + changed.length + retired.length === 0

const changeOf = (version: number, { added, changed, members, retired }: CatalogDifference): CatalogChange => ({
  version,
  added,
  changed,
  retired,
  members
})
