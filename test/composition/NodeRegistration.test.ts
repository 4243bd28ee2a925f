/**
 * Tests a server that starts while a newer release migrates the database.
 */
import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { gatewayStores } from "@tollgate/composition/GatewayStores"
import { fromUrl } from "@tollgate/composition/Postgres"
import { readServerConfig } from "@tollgate/composition/ServerConfig"
import { Effect, Either, Layer, Redacted } from "effect"
import * as TestDatabase from "../support/TestDatabase.ts"

const SECRET = "a secret for tests only, longer than the minimum"

describe("a server", () => {
  it.scopedLive("does not start if an incompatible migration is applied just before its registration", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make()
      // The trigger simulates a migration between the first check of the schema and the registration.
      yield* Effect.flatMap(SqlClient.SqlClient, (sql) =>
        sql.unsafe(`
          CREATE FUNCTION contract() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO migration (name, compatible_since) VALUES ('9999_contract', '9998_expand'); RETURN NEW;
          END $$;
          CREATE TRIGGER contract AFTER INSERT ON gateway_node EXECUTE FUNCTION contract();`)
      ).pipe(Effect.provide(TestDatabase.clientLayer(database)))
      const config = Either.getOrThrow(
        readServerConfig({ NODE_ENV: "test", DATABASE_URL: database.url, KEY_PEPPER: SECRET, JWT_SECRET: SECRET })
      )
      const started = Layer.build(gatewayStores(config, fromUrl(Redacted.make(database.url))))
      expect(yield* Effect.flip(started)).toMatchObject({
        _tag: "StartFailed",
        message: expect.stringContaining("9999_contract of a newer release")
      })
    })
  )
})
