/**
 * Provides the stores over a test database, and functions that create users and models.
 */
import { randomBytes } from "node:crypto"
import { SqlClient } from "@effect/sql"
import * as PgCatalogs from "@tollgate/adapters-postgres/catalog/PgCatalogs"
import { nextUuidV7 } from "@tollgate/adapters-postgres/client/SqlValues"
import * as KeyMac from "@tollgate/adapters-postgres/customer/KeyMac"
import * as PgApiKeys from "@tollgate/adapters-postgres/customer/PgApiKeys"
import * as PgKeyLimits from "@tollgate/adapters-postgres/customer/PgKeyLimits"
import * as PgPaygAccounts from "@tollgate/adapters-postgres/customer/PgPaygAccounts"
import * as PgUsers from "@tollgate/adapters-postgres/customer/PgUsers"
import * as PgAudit from "@tollgate/adapters-postgres/operations/PgAudit"
import * as PgDatabase from "@tollgate/adapters-postgres/operations/PgDatabase"
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { Users } from "@tollgate/application/customer/Users"
import { Audit } from "@tollgate/application/operations/Audit"
import { type CatalogTerms, parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import { type ApiKeyId, generateKey } from "@tollgate/domain/customer/ApiKey"
import type { UserId } from "@tollgate/domain/customer/User"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId, type Operator } from "@tollgate/domain/operations/Operation"
import { Email } from "@tollgate/domain/validation/Email"
import { Effect, Either, Layer, Redacted } from "effect"
import * as TestDatabase from "./TestDatabase.ts"

export const keyMac = KeyMac.layer({
  prefix: "tg",
  pepper: Redacted.make("the pepper of the tests")
})

export const stores = Layer.mergeAll(
  PgUsers.layer,
  PgApiKeys.layer,
  PgKeyLimits.layer,
  PgPaygAccounts.layer,
  PgCatalogs.layer,
  PgAudit.layer,
  PgDatabase.layer
).pipe(Layer.provideMerge(keyMac))

export const layer = Layer.provideMerge(stores, TestDatabase.layer)

export const operator: Operator = { actor: "ada", reason: "required by a test" }

/** Stores a key as releases before migration 0018 do. The MAC of this key belongs to no secret. */
export const anEarlierKey = (userId: UserId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const id = (yield* nextUuidV7) as ApiKeyId
    const { publicId } = generateKey("tg", randomBytes(44))
    yield* sql`INSERT INTO api_key (id, public_id, user_id, name, secret_mac, pepper_version)
      VALUES (${id}, ${publicId}, ${userId}, 'key', ${randomBytes(32)}, 1)`
    return id
  })

let count = 0
export const anEmail = (): Email => Email.make(`customer-${++count}@example.com`)

export const aUser = Effect.gen(function* () {
  return yield* (yield* Users).create(anEmail(), operator)
})

export const aPayer = (usdMicro: bigint) =>
  Effect.tap(aUser, ({ email, id }) =>
    Effect.flatMap(PaygAccounts, (accounts) =>
      accounts.credit({ email, amount: UsdMicro(usdMicro), operationId: OperationId.make(`first of ${id}`), operator })
    )
  )

interface ModelMembers {
  readonly public_name?: string
  readonly [member: string]: unknown
}

/** Returns a catalog with the provider `lab` and these models. Each model has a route to `lab`. */
export const catalogOf = (...models: ReadonlyArray<ModelMembers>): CatalogTerms =>
  Either.getOrThrow(
    parseCatalogFile({
      providers: [{ name: "lab", base_url: "https://lab.example/v1", api_key_env: "LAB_KEY", protocols: ["chat"] }],
      models: models.map((model) => ({
        public_name: "m",
        display_name: "M",
        author: "Lab",
        // A cache write is not dearer than input, so a hold has exactly the cost of its estimate at the rate of input.
        price_usd_micro_per_million_tokens: { input: 1_000, cache_read: 100, cache_write: 1_000, output: 4_000 },
        routes: [{ provider: "lab", upstream_model: `${model.public_name ?? "m"}-1` }],
        ...model
      }))
    })
  )

/** Applies a catalog that contains only this model. */
export const aModel = (publicName: string) =>
  Effect.gen(function* () {
    const catalogs = yield* Catalogs
    yield* catalogs.apply(catalogOf({ public_name: publicName }), operator)
    const model = (yield* catalogs.load).models.find((stored) => stored.publicName === publicName)
    return model ?? (yield* Effect.dieMessage(`${publicName} was not stored`))
  })

export const brokenInvariants = Effect.map(
  Effect.flatMap(Audit, (audit) => audit.audit),
  ({ checks }) => checks.filter(({ violations }) => violations > 0n).map(({ id }) => id)
)
