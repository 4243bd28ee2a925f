import { userInfo } from "node:os"
import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { make } from "@tollgate/adapters-postgres/customer/KeyMac"
import { parse } from "@tollgate/domain/customer/ApiKey"
import { Effect, Either, Redacted } from "effect"
import { A_TIME, AN_ID, audited, layer as commandLine, documentOf, tollgate } from "../CommandLine.ts"
import { aCatalogFile } from "./CatalogFiles.ts"

interface KeyDocument {
  readonly key_id: string
  readonly public_id: string
  readonly secret: string
}

const aKey = (email: string, name: string) =>
  Effect.map(
    tollgate("keys", "create", "--user", email, "--name", name, "--json"),
    (printed) => documentOf(printed) as KeyDocument
  )

describe("tollgate keys", () => {
  layer(commandLine, { excludeTestServices: true })((it) => {
    it.effect("stores the MAC of a key's secret, and not the secret", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* tollgate("users", "create", "ada@example.com")
        const key = yield* aKey("ada@example.com", "laptop")
        expect(key).toEqual({
          key_id: AN_ID,
          user_id: AN_ID,
          name: "laptop",
          public_id: expect.stringMatching(/^[0-9A-Za-z]{16}$/),
          secret: expect.stringMatching(/^tg_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}$/),
          created_at: A_TIME,
          revoked: false,
          revoked_at: null,
          limits: null
        })
        const [stored] = yield* sql<{ secret_mac: Buffer }>`
          SELECT secret_mac FROM api_key WHERE id = ${key.key_id}`
        const pepper = Redacted.make(process.env.KEY_PEPPER ?? "")
        const mac = make({ prefix: "tg", pepper })
        expect(mac.verify(Either.getOrThrow(parse("tg", key.secret)), stored?.secret_mac)).toBe(true)
        const [, , secretPart = ""] = key.secret.split("_")
        const entries = yield* audited
        expect(entries).toMatchObject([
          {},
          { actor: userInfo().username, action: "key.create", reason: "cli: keys create" }
        ])
        expect(JSON.stringify(entries)).not.toContain(secretPart)
        const [row] = yield* sql<{ text: string }>`SELECT api_key::text AS text FROM api_key WHERE id = ${key.key_id}`
        expect(row?.text).toContain(key.public_id)
        expect(row?.text).not.toContain(secretPart)
      })
    )

    it.effect("prints the secret of a new key", () =>
      Effect.gen(function* () {
        yield* tollgate("users", "create", "grace@example.com")
        const before = yield* tollgate("keys", "create", "--user", "grace@example.com", "--name", "first")
        expect(before.stdout).toContain("The catalog has no chat model yet.")
        yield* tollgate("catalog", "apply", aCatalogFile())
        const { code, stderr, stdout } = yield* tollgate(
          "keys",
          "create",
          "--user",
          "grace@example.com",
          "--name",
          "it's"
        )
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
        const [secret] = /^ {2}(tg_\w+)$/m.exec(stdout)?.slice(1) ?? []
        expect(stdout).toContain(`"Authorization: Bearer ${secret}"`)
        expect(stdout).toContain("http://127.0.0.1:8080/v1/chat/completions")
        expect(stdout).toContain('"model":"gpt-5-mini"')
        process.env.PORT = "0"
        const withoutPort = yield* tollgate("keys", "create", "--user", "grace@example.com", "--name", "third")
        delete process.env.PORT
        expect(withoutPort.stdout).toContain("The server logs its address at its start.")
        expect(withoutPort.stdout).not.toContain("curl")
        const listed = yield* tollgate("keys", "list", "--user", "grace@example.com")
        expect(listed.stdout).toMatch(/^KEY ID +NAME +PUBLIC ID +CREATED +REVOKED$/m)
        expect(listed.stdout).not.toContain(secret)
      })
    )

    it.effect("lists the newest key first", () =>
      Effect.gen(function* () {
        yield* tollgate("users", "create", "linus@example.com")
        const none = yield* tollgate("keys", "list", "--user", "linus@example.com", "--json")
        expect(none.stdout).toBe("[]\n")
        const older = yield* aKey("linus@example.com", "older")
        const newer = yield* aKey("linus@example.com", "newer")
        const revoked = documentOf(
          yield* tollgate("keys", "revoke", older.key_id, "--yes", "--json", "--reason", "leaked")
        )
        expect(revoked).toMatchObject({ key_id: older.key_id, revoked: true, revoked_at: A_TIME })
        expect(documentOf(yield* tollgate("keys", "revoke", older.key_id, "--yes", "--json"))).toEqual(revoked)
        expect(documentOf(yield* tollgate("keys", "list", "--user", "linus@example.com", "--json"))).toMatchObject([
          { key_id: newer.key_id, revoked: false, revoked_at: null },
          revoked as object
        ])
        const limited = yield* tollgate("keys", "list", "--user", "linus@example.com", "--limit", "1", "--json")
        expect(documentOf(limited)).toMatchObject([{ key_id: newer.key_id }])
        const revocations = (yield* audited).filter(({ action }) => action === "key.revoke")
        expect(revocations).toMatchObject([{ actor: userInfo().username, reason: "leaked" }])
      })
    )

    it.effect("sets, changes and shows the limits of a key", () =>
      Effect.gen(function* () {
        yield* tollgate("users", "create", "barbara@example.com")
        yield* tollgate("catalog", "apply", aCatalogFile())
        const options = [
          "--usd-micro-per-day",
          "5000000",
          "--models",
          "gpt-5-mini",
          "--expires-at",
          "2099-01-01T00:00:00Z"
        ]
        const key = documentOf(
          yield* tollgate("keys", "create", "--user", "barbara@example.com", "--name", "limited", ...options, "--json")
        ) as KeyDocument
        const limits = {
          spend_usd_micro_per_day: 5_000_000,
          spend_usd_micro_per_month: null,
          spend_usd_micro_total: null,
          requests_per_minute: null,
          tokens_per_minute: null,
          concurrent_requests: null,
          expires_at: "2099-01-01T00:00:00.000Z",
          models: ["gpt-5-mini"]
        }
        expect(key).toMatchObject({ limits })
        const changed = yield* tollgate(
          ...["keys", "limits", key.key_id, "--requests-per-minute", "60", "--models", "none", "--json"]
        )
        expect(documentOf(changed)).toMatchObject({
          limits: { ...limits, requests_per_minute: 60, models: null },
          limit_usage: { spent_usd_micro_today: "0", available_usd_micro: "5000000", requests_this_minute: 0 }
        })
        const shown = yield* tollgate("keys", "limits", key.key_id)
        expect(shown.stdout).toMatch(/^micro-USD per day +5000000 +0$/m)
        expect(shown.stdout).toMatch(/^requests per minute +60 +0$/m)
        expect((yield* audited).filter(({ action }) => action === "key.limits")).toHaveLength(1)
      })
    )

    it.effect("creates no key that has already expired", () =>
      Effect.gen(function* () {
        yield* tollgate("users", "create", "ada@expired.example")
        const create = ["keys", "create", "--user", "ada@expired.example", "--name", "key"]
        const refused = yield* tollgate(...create, "--expires-at", "2026-01-31T17:00:00Z")
        expect(refused).toMatchObject({ code: 2, stdout: "" })
        expect(refused.stderr).toContain("--expires-at: this time has passed")
        expect((yield* tollgate("keys", "list", "--user", "ada@expired.example", "--json")).stdout).toBe("[]\n")
      })
    )

    it.effect("refuses invalid limits and unknown models", () =>
      Effect.gen(function* () {
        yield* tollgate("users", "create", "edsger@example.com")
        const key = yield* aKey("edsger@example.com", "key")
        const limit = (...options: ReadonlyArray<string>) => tollgate("keys", "limits", key.key_id, ...options)
        const invalid = yield* limit("--usd-micro-per-day", "-1")
        expect(invalid.code).toBe(2)
        expect((yield* limit("--tokens-per-minute", "many")).stderr).toContain(
          "--tokens-per-minute: expected a number, or none"
        )
        expect(yield* limit("--models", "unknown-model")).toMatchObject({ code: 3 })
        expect((yield* limit()).stdout).toContain("has no limits.")
      })
    )

    it.effect("refuses unknown users and keys", () =>
      Effect.gen(function* () {
        const unknown = "01890000-0000-7000-8000-000000000000"
        expect(yield* tollgate("keys", "revoke", unknown, "--yes")).toMatchObject({ code: 3 })
        expect(yield* tollgate("keys", "revoke", "mine", "--yes")).toMatchObject({ code: 2 })
        expect(yield* tollgate("keys", "list", "--user", "unknown@example.com")).toMatchObject({ code: 3 })
        expect(yield* tollgate("keys", "create", "--user", "unknown@example.com", "--name", " ")).toMatchObject({
          code: 2
        })
        expect(yield* tollgate("keys", "create", "--user", "unknown@example.com")).toMatchObject({ code: 2 })
      })
    )

    it.effect("requires --yes to revoke a key without a terminal", () =>
      Effect.gen(function* () {
        const refused = yield* tollgate("keys", "revoke", "01890000-0000-7000-8000-000000000000")
        expect(refused).toMatchObject({ code: 2, stdout: "" })
        expect(refused.stderr).toContain("Add --yes")
      })
    )

    it.effect("requires KEY_PEPPER to create a key in production", () =>
      Effect.gen(function* () {
        yield* tollgate("users", "create", "prod@example.com")
        const { KEY_PEPPER } = process.env
        process.env.NODE_ENV = "production"
        delete process.env.KEY_PEPPER
        const made = yield* tollgate("keys", "create", "--user", "prod@example.com", "--name", "x", "--json")
        const listed = yield* tollgate("keys", "list", "--user", "prod@example.com", "--json")
        Object.assign(process.env, { NODE_ENV: "test", KEY_PEPPER })
        expect(made.code).toBe(1)
        expect(documentOf(made)).toMatchObject({ error: { code: "invalid_settings" } })
        expect(listed).toMatchObject({ code: 0, stdout: "[]\n" })
      })
    )
  })
})
