/**
 * The servers have the settings of the steps in docs/operations.md that replace the pepper.
 */
import crypto, { randomBytes } from "node:crypto"
import { syncBuiltinESMExports } from "node:module"
import { SqlClient, Statement } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgNotifications from "@tollgate/adapters-postgres/client/PgNotifications"
import { arrayOf } from "@tollgate/adapters-postgres/client/SqlValues"
import * as KeyMac from "@tollgate/adapters-postgres/customer/KeyMac"
import * as PgApiKeyAuthenticator from "@tollgate/adapters-postgres/customer/PgApiKeyAuthenticator"
import * as PgApiKeys from "@tollgate/adapters-postgres/customer/PgApiKeys"
import * as PgKeyPeppers from "@tollgate/adapters-postgres/customer/PgKeyPeppers"
import * as PgWebhookEndpoints from "@tollgate/adapters-postgres/webhook/PgWebhookEndpoints"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { KeyPeppers, KeyRewrites } from "@tollgate/application/customer/KeyPeppers"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import { WebhookEndpoints } from "@tollgate/application/webhook/WebhookEndpoints"
import { type ApiKeyId, generateKey, render } from "@tollgate/domain/customer/ApiKey"
import type { EndpointSettings, WebhookEndpointId } from "@tollgate/domain/webhook/WebhookEndpoint"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import * as Pg from "pg"
import * as Stores from "../../support/Stores.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const [OLD, NEW] = [Redacted.make("the old pepper"), Redacted.make("the new pepper")]
const NEITHER = Redacted.make("another pepper")

/** The settings of a server at each step of the replacement. */
const PEPPERS = {
  before: { prefix: "tg", pepper: OLD },
  announced: { prefix: "tg", pepper: OLD, previousPepper: NEW },
  during: { prefix: "tg", pepper: NEW, previousPepper: OLD },
  after: { prefix: "tg", pepper: NEW },
  other: { prefix: "tg", pepper: NEITHER }
} satisfies Record<string, KeyMac.KeyMacOptions>
const ENDPOINT: EndpointSettings = {
  url: "https://hooks.example.com/",
  events: ["balance.low"],
  enabled: true,
  thresholds: { quotaUsdMicro: undefined, paygUsdMicro: undefined, planTokens: undefined }
}

type Step = keyof typeof PEPPERS

const of = (step: Step) => KeyMac.make(PEPPERS[step])

/** Starts the parts of a server that use the pepper. Its cache of keys is empty. */
const aServer = (step: Step) =>
  Effect.gen(function* () {
    const built = yield* Layer.build(
      Layer.mergeAll(PgApiKeyAuthenticator.layer(), PgApiKeys.layer, PgKeyPeppers.layer, PgWebhookEndpoints.layer).pipe(
        Layer.provideMerge(Layer.merge(PgNotifications.layer(), KeyMac.layer(PEPPERS[step])))
      )
    )
    // The cache is emptied when the server begins to listen, so a test of the cache must not start earlier.
    const { listening } = Context.get(built, PgNotifications.PgNotifications)
    yield* Effect.sync(listening).pipe(
      Effect.delay("5 millis"),
      Effect.repeat({ until: (yes) => yes }),
      Effect.timeout("60 seconds")
    )
    const { authenticate } = Context.get(built, ApiKeyAuthenticator)
    return {
      authenticate,
      accepts: (secret: Redacted.Redacted<string>) => Effect.isSuccess(authenticate(secret)),
      create: Effect.flatMap(Stores.aUser, ({ email }) =>
        Context.get(built, ApiKeys).create(email, "key", Stores.operator)
      ),
      rewrite: Context.get(built, KeyRewrites).rewrite,
      count: Effect.map(Context.get(built, KeyPeppers).count, Option.getOrThrow),
      countEndpoints: Effect.map(Context.get(built, KeyPeppers).countEndpoints, Option.getOrThrow),
      createEndpoint: Context.get(built, WebhookEndpoints).create(undefined, ENDPOINT, Stores.operator),
      rotateEndpoint: (id: WebhookEndpointId) =>
        Context.get(built, WebhookEndpoints).rotateSecret("everyone", id, Stores.operator)
    }
  })

const stored = (id: ApiKeyId) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{ secret_mac: Buffer; pepper_name: string | null; pepper_version: number }>`
        SELECT secret_mac, pepper_name, pepper_version FROM api_key WHERE id = ${id}`,
      ([row]) => row
    )
  )

/** Returns a function that counts the MACs that an effect computes under a pepper. */
const countedMacs = Effect.acquireRelease(
  Effect.sync(() => {
    const { createHmac } = crypto
    let macs = 0
    const peppers = Object.values(PEPPERS).map(({ pepper }) => Redacted.value(pepper))
    crypto.createHmac = (algorithm, key, options) => {
      if (peppers.some((pepper) => pepper === key)) macs++
      return createHmac(algorithm, key, options)
    }
    syncBuiltinESMExports()
    const counted = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.suspend(() => {
        macs = 0
        return Effect.map(Effect.exit(effect), () => macs)
      })
    return { counted, createHmac }
  }),
  ({ createHmac }) =>
    Effect.sync(() => {
      crypto.createHmac = createHmac
      syncBuiltinESMExports()
    })
).pipe(Effect.map(({ counted }) => counted))

/** Returns the steps in which a newly started server accepts the key. */
const acceptedBy = (secret: Redacted.Redacted<string>) =>
  Effect.scoped(
    Effect.filter(["before", "announced", "during", "after"] as const, (step) =>
      Effect.flatMap(aServer(step), ({ accepts }) => accepts(secret))
    )
  )

describe("a replacement of the pepper", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.scoped("rewrites a key that is used", () =>
      Effect.gen(function* () {
        const before = yield* aServer("before")
        const used = yield* before.create
        const unused = yield* before.create
        const announced = yield* aServer("announced")
        expect(yield* announced.accepts(used.secret)).toBe(true)
        expect(yield* announced.rewrite).toBe(0)

        const during = yield* aServer("during")
        expect(yield* during.accepts(used.secret)).toBe(true)
        expect((yield* stored(used.key.id))?.pepper_name).toBe(of("before").pepperName)
        expect(yield* during.rewrite).toBe(1)
        expect(yield* during.rewrite).toBe(0)
        expect((yield* stored(used.key.id))?.pepper_name).toBe(of("after").pepperName)
        expect(yield* acceptedBy(used.secret)).toEqual(["announced", "during", "after"])
        expect(yield* acceptedBy(unused.secret)).toEqual(["before", "announced", "during"])
        expect(yield* acceptedBy((yield* during.create).secret)).toEqual(["announced", "during", "after"])
      })
    )

    it.scoped("records the pepper of an earlier release's key", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const server = yield* aServer("before")
        const { key, secret } = yield* server.create
        yield* sql`UPDATE api_key SET pepper_name = NULL WHERE id = ${key.id}`
        const earlier = yield* stored(key.id)
        expect(yield* server.accepts(secret)).toBe(true)
        expect(yield* server.rewrite).toBe(1)
        expect(yield* stored(key.id)).toEqual({ ...earlier, pepper_name: of("before").pepperName, pepper_version: 1 })
      })
    )

    it.scoped("adds no statement to the lookup of a key", () =>
      Effect.gen(function* () {
        const server = yield* aServer("during")
        const { secret } = yield* (yield* aServer("before")).create
        let statements = 0
        const counted = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
          Statement.withTransformer(effect, (statement) => {
            statements++
            return Effect.succeed(statement)
          })
        yield* counted(Effect.flip(server.authenticate(render("tg", generateKey("tg", randomBytes(44))))))
        expect(statements).toBe(1)
        yield* counted(server.authenticate(secret))
        expect(statements).toBe(2)
        expect(yield* server.rewrite).toBe(1)
      })
    )

    it.scoped("computes as many MACs for an unknown key as for a key under the current pepper", () =>
      Effect.gen(function* () {
        // A server does not cache a key that is looked up when its notification arrives, so other servers create the
        // keys.
        const old = yield* (yield* aServer("before")).create
        const current = yield* (yield* aServer("during")).create
        const [before, during] = [yield* aServer("before"), yield* aServer("during")]
        const unknown = () => render("tg", generateKey("tg", randomBytes(44)))
        const macsOf = yield* countedMacs
        expect(yield* macsOf(before.authenticate(old.secret))).toBe(1)
        expect(yield* macsOf(before.authenticate(unknown()))).toBe(1)
        expect(yield* macsOf(during.authenticate(current.secret))).toBe(2)
        expect(yield* macsOf(during.authenticate(unknown()))).toBe(2)
        // The MAC under the current pepper is computed too, for the rewrite of the key.
        expect(yield* macsOf(during.authenticate(old.secret))).toBe(3)
        for (const { secret } of [old, current]) expect(yield* macsOf(during.authenticate(secret))).toBe(0)
      })
    )

    it.scoped("counts the webhook endpoints under the previous pepper", () =>
      Effect.gen(function* () {
        const [before, during, after] = [yield* aServer("before"), yield* aServer("during"), yield* aServer("after")]
        const { endpoint } = yield* before.createEndpoint
        yield* before.createEndpoint
        yield* during.createEndpoint
        expect(yield* before.countEndpoints).toEqual({ all: 3, unusable: 1, others: 0 })
        expect(yield* during.countEndpoints).toEqual({ all: 3, unusable: 0, others: 2 })
        expect(yield* after.countEndpoints).toEqual({ all: 3, unusable: 2, others: 0 })
        yield* during.rotateEndpoint(endpoint.id)
        expect(yield* during.countEndpoints).toEqual({ all: 3, unusable: 0, others: 1 })
      })
    )

    it.scoped("rewrites each of ten keys once on three servers", () =>
      Effect.gen(function* () {
        const before = yield* aServer("before")
        const keys = yield* Effect.replicateEffect(before.create, 10)
        const servers = yield* Effect.replicateEffect(aServer("during"), 3)
        for (const { accepts } of servers) for (const { secret } of keys) expect(yield* accepts(secret)).toBe(true)
        const counts = yield* Effect.all(
          servers.map(({ rewrite }) => rewrite),
          { concurrency: "unbounded" }
        )
        expect(counts.reduce((sum, count) => sum + count)).toBe(10)
        for (const { secret } of keys) expect(yield* acceptedBy(secret)).toEqual(["announced", "during", "after"])
      })
    )

    it.scoped("keeps a MAC that has changed since its read", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { key, secret } = yield* (yield* aServer("before")).create
        const during = yield* aServer("during")
        expect(yield* during.accepts(secret)).toBe(true)
        const changed = Buffer.alloc(32, 7)
        yield* sql`UPDATE api_key SET secret_mac = ${changed} WHERE id = ${key.id}`
        expect(yield* during.rewrite).toBe(0)
        expect((yield* stored(key.id))?.secret_mac).toEqual(changed)
      })
    )

    it.scoped("does not wait for a key that is locked", () =>
      Effect.gen(function* () {
        const before = yield* aServer("before")
        const [locked, free] = [yield* before.create, yield* before.create]
        const during = yield* aServer("during")
        for (const { secret } of [locked, free]) expect(yield* during.accepts(secret)).toBe(true)
        const { settings } = yield* TestDatabase
        const client = new Pg.Client(settings)
        yield* Effect.acquireUseRelease(
          Effect.promise(() => client.connect()),
          () =>
            Effect.gen(function* () {
              yield* Effect.promise(() => client.query("BEGIN"))
              yield* Effect.promise(() => client.query("SELECT FROM api_key WHERE id = $1 FOR UPDATE", [locked.key.id]))
              expect(yield* Effect.timeout(during.rewrite, "15 seconds")).toBe(1)
            }),
          () => Effect.promise(() => client.end())
        )
        expect((yield* stored(locked.key.id))?.pepper_name).toBe(of("before").pepperName)
        // The lookup of the key by another server causes another rewrite.
        const another = yield* aServer("during")
        expect(yield* another.accepts(locked.secret)).toBe(true)
        expect(yield* another.rewrite).toBe(1)
      })
    )

    it.effect("rewrites at most 500 keys in one statement", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { id: userId } = yield* Stores.aUser
        const rewrites = yield* Effect.provideService(PgKeyPeppers.make, KeyMac.KeyMac, of("during"))
        const { pepperName, seal } = of("before")
        const materials = Array.from({ length: 501 }, () => generateKey("tg", randomBytes(44)))
        const keys = new Map(materials.map((material) => [material.publicId, material]))
        const macs = materials.map((material) => Buffer.from(seal(material).secretMac).toString("hex"))
        const rows = yield* sql<{ id: ApiKeyId; public_id: string; secret_mac: Buffer }>`
          INSERT INTO api_key (id, public_id, user_id, name, secret_mac, pepper_version)
          SELECT gen_random_uuid(), public_id, ${userId}, 'key', decode(mac, 'hex'), 1
          FROM unnest(${arrayOf([...keys.keys()])}::text[], ${arrayOf(macs)}::text[]) AS made (public_id, mac)
          RETURNING id, public_id, secret_mac`
        for (const { id, public_id: publicId, secret_mac: secretMac } of rows) {
          rewrites.add(id, keys.get(publicId) ?? generateKey("tg", randomBytes(44)), secretMac, pepperName)
        }
        expect([yield* rewrites.rewrite, yield* rewrites.rewrite, yield* rewrites.rewrite]).toEqual([500, 1, 0])
      })
    )
  })

  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.scoped("counts the keys that are neither revoked nor expired", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const during = yield* aServer("during")
        const before = yield* aServer("before")
        yield* during.create
        const used = yield* before.create
        yield* Effect.replicateEffect(before.create, 2)
        const unrecorded = yield* before.create
        yield* sql`UPDATE api_key SET pepper_name = NULL WHERE id = ${unrecorded.key.id}`
        yield* sql`INSERT INTO api_key_use (key_id, used_at) VALUES (${used.key.id}, now() - interval '29 days')`
        yield* sql`INSERT INTO api_key_use (key_id, used_at) VALUES (${unrecorded.key.id}, now() - interval '31 days')`
        const foreign = yield* (yield* aServer("other")).create
        for (const [column, key] of [
          ["revoked_at", yield* before.create],
          ["expires_at", yield* before.create]
        ] as const) {
          yield* sql`UPDATE api_key SET ${sql(column)} = clock_timestamp() WHERE id = ${key.key.id}`
        }
        expect(yield* during.count).toMatchObject({ all: 6, refused: 1, others: 4, othersInUse: 1 })
        expect(yield* (yield* aServer("after")).count).toMatchObject({ all: 6, refused: 4, others: 1, othersInUse: 0 })
        expect(yield* during.accepts(foreign.secret)).toBe(false)
      })
    )
  })
})
