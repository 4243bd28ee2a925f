import { userInfo } from "node:os"
import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { A_TIME, AN_ID, audited, layer as commandLine, documentOf, tollgate } from "../CommandLine.ts"

describe("tollgate users", () => {
  layer(commandLine, { excludeTestServices: true })((it) => {
    it.effect("creates a user and records the actor", () =>
      Effect.gen(function* () {
        const created = yield* tollgate("users", "create", " Ada@Example.com ", "--json")
        expect(created).toMatchObject({ code: 0, stderr: "" })
        expect(documentOf(created)).toEqual({
          user_id: AN_ID,
          email: "ada@example.com",
          status: "active",
          created_at: A_TIME
        })
        const grace = yield* tollgate("users", "create", "grace@example.com", "--reason", "ticket 7")
        expect(grace.stdout).toMatch(
          /^Created the user grace@example\.com \([0-9a-f-]{36}\)\.\nNext, .*\n {2}tollgate keys create/
        )
        expect(yield* audited).toMatchObject([
          { actor: userInfo().username, action: "user.create", reason: "cli: users create" },
          { actor: userInfo().username, action: "user.create", reason: "ticket 7" }
        ])
      })
    )

    it.effect("refuses a duplicate or invalid email", () =>
      Effect.gen(function* () {
        yield* tollgate("users", "create", "twice@example.com")
        const again = yield* tollgate("users", "create", "TWICE@example.com")
        expect(again).toMatchObject({ code: 3, stdout: "" })
        expect(again.stderr).toContain("The user twice@example.com already exists.")
        const asDocument = yield* tollgate("users", "create", "twice@example.com", "--json")
        expect(documentOf(asDocument)).toMatchObject({ error: { code: "user_exists" } })
        const malformed = yield* tollgate("users", "create", "twice.example.com")
        expect(malformed).toMatchObject({ code: 2, stdout: "" })
        expect(malformed.stderr).toContain("email: expected an email address, like name@example.com")
      })
    )

    it.effect("shows the balances of a user without subtracting open holds", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const created = documentOf(yield* tollgate("users", "create", "rich@example.com", "--json"))
        const { user_id } = created as { user_id: string }
        yield* aModel("gpt-5-mini")
        yield* sql`INSERT INTO account (id, kind, unit, user_id, credits_posted, debits_posted, debits_pending)
          VALUES (gen_random_uuid(), 'payg', 'usd_pico', ${user_id}, 12345678900000, 345678000001, 900001)`
        yield* sql`INSERT INTO account (id, kind, unit, user_id, model_id, credits_posted, debits_posted)
          SELECT gen_random_uuid(), 'plan', 'token', ${user_id}, id, 9007199254740991, 1 FROM model`

        const shown = yield* tollgate("users", "show", "rich@example.com", "--json")
        expect(documentOf(shown)).toEqual({
          ...(created as object),
          payg: { currency: "USD", balance: "12.000000", balance_usd_micro: "12000000" },
          token_plans: [
            {
              model: "gpt-5-mini",
              purchased_tokens: 9007199254740991,
              used_tokens: 1,
              remaining_tokens: 9007199254740990,
              status: "active"
            }
          ]
        })
        const { stdout } = yield* tollgate("users", "show", "rich@example.com")
        expect(stdout).toContain("Pay-as-you-go  12.000000 USD\n")
        expect(stdout).toMatch(/^TOKEN PLAN +PURCHASED +USED +REMAINING +STATUS$/m)
        expect(stdout).toMatch(/^gpt-5-mini +9007199254740991 +1 +9007199254740990 +active$/m)
      })
    )

    it.effect("lists the newest user first", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        for (const email of ["list-a@example.com", "list-b@example.com"]) yield* tollgate("users", "create", email)
        yield* tollgate("keys", "create", "--user", "list-a@example.com", "--name", "k")
        yield* sql`UPDATE app_user SET status = 'blocked' WHERE email = 'list-b@example.com'`
        const listed = yield* tollgate("users", "list", "--search", "LIST-", "--json")
        expect(documentOf(listed)).toEqual([
          {
            user_id: AN_ID,
            email: "list-b@example.com",
            status: "blocked",
            created_at: A_TIME,
            payg: { currency: "USD", balance: "0.000000", balance_usd_micro: "0" },
            active_keys: 0,
            resellers: []
          },
          expect.objectContaining({ email: "list-a@example.com", status: "active", active_keys: 1 })
        ])
        const blocked = yield* tollgate("users", "list", "--status", "blocked", "--json")
        expect(documentOf(blocked)).toMatchObject([{ email: "list-b@example.com" }])
        expect(documentOf(yield* tollgate("users", "list", "--limit", "1", "--json"))).toMatchObject([
          { email: "list-b@example.com" }
        ])
        expect((yield* tollgate("users", "list")).stdout).toMatch(
          /^CREATED +EMAIL +STATUS +KEYS +PAYG +RESELLERS +ID$/m
        )
      })
    )

    it.effect("refuses an unknown user", () =>
      Effect.gen(function* () {
        const shown = yield* tollgate("users", "show", "unknown@example.com")
        expect(shown).toMatchObject({ code: 3, stdout: "" })
        expect(shown.stderr).toContain("tollgate users create unknown@example.com")
      })
    )
  })
})

const aModel = (name: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.withTransaction(
      Effect.gen(function* () {
        const [model] = yield* sql<{ id: string }>`INSERT INTO model
          (id, public_name, display_name, author, kind, discovery_rank, hidden, capabilities, price_id)
          VALUES (gen_random_uuid(), ${name}, ${name}, 'OpenAI', 'text', 0, false, '{}', gen_random_uuid()) RETURNING id`
        yield* sql`INSERT INTO price (id, model_id, input, cache_write, cache_read, output)
          SELECT price_id, id, 1, 1, 1, 1 FROM model WHERE id = ${model?.id ?? ""}`
      })
    )
  })
