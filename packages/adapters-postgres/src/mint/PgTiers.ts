/**
 * What resellers can mint, in Postgres.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Tiers } from "@tollgate/application/mint/Mints"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { sqlErrorsAreDefects } from "../client/Transact.ts"
import { TIERS, type TierRow, toTier } from "./TierRows.ts"

export const layer: Layer.Layer<Tiers, never, SqlClient.SqlClient> = Layer.effect(
  Tiers,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    all: Effect.map(sql<TierRow>`${sql.literal(TIERS)}`, (rows) => rows.map(toTier)).pipe(sqlErrorsAreDefects)
  }))
)
