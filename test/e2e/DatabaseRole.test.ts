/**
 * Tests the grants of the database role of docs/operations.md.
 */
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import * as PgImageReviews from "@tollgate/adapters-postgres/images/PgImageReviews"
import { CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { createCustomerKey, revokeCustomerKey } from "@tollgate/application/customer/ApiKeys"
import { keyBalances } from "@tollgate/application/customer/Balances"
import { Customers, resolveCustomer } from "@tollgate/application/customer/Customers"
import { KeyUses } from "@tollgate/application/customer/KeyLists"
import { readUsage, resellerReader } from "@tollgate/application/customer/SettledUsage"
import { ImageRequests } from "@tollgate/application/images/ImageRequests"
import { ImageReviews } from "@tollgate/application/images/ImageReviews"
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { listTiers, Mints } from "@tollgate/application/mint/Mints"
import { OperatorSessions } from "@tollgate/application/operator/OperatorSessions"
import { Blacklist } from "@tollgate/application/reseller/Blacklist"
import { Quota } from "@tollgate/application/reseller/Quota"
import { logIn, reviewReseller, signUp } from "@tollgate/application/reseller/ResellerAccess"
import { refreshDue } from "@tollgate/application/topup/RefreshDueOrders"
import type { Principal } from "@tollgate/domain/customer/ApiKey"
import { outcomeOf } from "@tollgate/domain/images/ImageOutcome"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { OperatorName } from "@tollgate/domain/operator/OperatorSession"
import type { ClientAddress } from "@tollgate/domain/reseller/AttemptLimit"
import { BlacklistPattern } from "@tollgate/domain/reseller/Blacklist"
import { QuotaChange } from "@tollgate/domain/reseller/QuotaAdjustment"
import { Email } from "@tollgate/domain/validation/Email"
import { Effect, Exit, Redacted, Scope } from "effect"
import * as Pg from "pg"
import { afterAll, beforeAll, expect, it } from "vitest"
import { aRequest } from "../adapters-postgres/ledger/Customers.ts"
import { orderedBep20, orderedQris } from "../cli/commands/Programme.ts"
import * as TestDatabase from "../support/TestDatabase.ts"
import { TestGateway } from "../support/TestGateway.ts"
import { completion, usage } from "../support/upstream/ChatWire.ts"
import { json } from "../support/upstream/Script.ts"

const ROLE = `role_${randomBytes(8).toString("hex")}`
const STRONG = "uR7xkT2mVq9Lw4Zc8Jh3Nf6Yb1Gs5Pd0"
const scope = Effect.runSync(Scope.make())
let database: TestDatabase.Database
let gateway: TestGateway

const asOwner = async (statements: string): Promise<void> => {
  const client = new Pg.Client(database.settings)
  await client.connect()
  await client.query(statements).finally(() => client.end())
}

/** Returns the SQL statements of docs/operations.md with the role name of this test. */
const granted = (): string => {
  const page = readFileSync(resolve(import.meta.dirname, "../../docs/operations.md"), "utf8")
  const [, statements = ""] = /```sql\n([\s\S]*?)```/.exec(page) ?? []
  return statements.replaceAll("tollgate_app", ROLE)
}

const roleSettings = (): Pg.ClientConfig => ({ ...database.settings, user: ROLE })

beforeAll(async () => {
  database = await Effect.runPromise(Scope.extend(TestDatabase.make(), scope))
  await asOwner(granted())
  gateway = await TestGateway.start({
    database,
    settings: { NODE_ENV: "production", JWT_SECRET: STRONG, PAYMENTS_SIMULATOR: "", DRAIN_DELAY_SECONDS: "0" },
    reach: ({ url }) => url.replace("postgres://postgres@", `postgres://${ROLE}@`),
    model: { tiers: [{ tier_usd_cents: 100, granted_tokens: 1_000 }] }
  })
})
afterAll(async () => {
  await gateway.close()
  await asOwner(`DROP OWNED BY ${ROLE}; DROP ROLE ${ROLE}`)
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const operator = { actor: "test", reason: "required by a test" }
const email = Email.make("toko@example.com")
const password = Redacted.make("correct horse")
const address = "127.0.0.1" as ClientAddress

it("the restricted database role allows the operations of resellers, orders, mints, keys and requests", async () => {
  const keyId = await gateway.run(
    Effect.gen(function* () {
      const blacklist = yield* Blacklist
      const pattern = BlacklistPattern.make("@spam.example")
      yield* blacklist.add(pattern, operator)
      yield* blacklist.remove(pattern, operator)
      const sessions = yield* OperatorSessions
      const { code } = yield* sessions.create(OperatorName.make("ani"), operator)
      yield* sessions.use((yield* sessions.open(code, address)).token)
      yield* sessions.endAll(operator)

      const { id } = yield* signUp({ email, password, name: "Toko", waNumber: "6281234567890" }, address)
      yield* reviewReseller(email, "approve", operator)
      yield* logIn({ email, password }, address)
      yield* logIn({ email, password }, address)

      yield* orderedQris(id)
      yield* orderedBep20(id, 10_000_000n)
      yield* refreshDue()
      const change = { resellerId: id, change: QuotaChange(-1_000_000n), operationId: OperationId.make("back") }
      yield* (yield* Quota).adjust(change, operator)

      const customer = yield* resolveCustomer(id, Email.make("customer@example.com"))
      yield* (yield* Customers).link(id, Email.make(gateway.customer.email), operator)
      const [tier] = yield* listTiers
      const operationId = OperationId.make("first")
      yield* (yield* Mints).mint(id, { operationId, customerEmail: customer.email, planTierId: tier?.id ?? "" })

      const { key } = yield* createCustomerKey(id, customer.userId, "first")
      yield* keyBalances(id, key.id)
      yield* readUsage(resellerReader(id), {})
      yield* (yield* KeyUses).record
      yield* revokeCustomerKey(id, key.id)
      yield* (yield* OpenHolds).sweep
      return key.id
    })
  )
  expect(keyId).toMatch(/^[0-9a-f-]{36}$/)

  gateway.upstream.next(json(completion({ content: ["Hello!"], usage: usage(7, 3) })))
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hello" }] })
  })
  expect(response.status, await response.text()).toBe(200)
  await gateway.settled()
})

it("the restricted database role allows the operations of images and their reviews", async () => {
  const [owner] = await gateway.query<Principal>(
    'SELECT id AS "keyId", user_id AS "userId" FROM api_key WHERE user_id = $1',
    [gateway.customer.userId]
  )
  const resolved = await gateway.run(
    Effect.gen(function* () {
      const model = (yield* CurrentCatalog).get().models.get("m")
      if (owner === undefined || model === undefined)
        return yield* Effect.dieMessage("no callable model and no key owner exist")
      const admission: Admission = { ...aRequest({ principal: owner, model }), protocol: "images", streamed: false }
      const images = yield* ImageRequests
      yield* images.begin({ admission, idempotencyKey: "once" })
      const outcome = () => outcomeOf({ _tag: "TimedOut" }, true)
      yield* images.finish({ admission, outcome, durationMillis: 1 })
      yield* images.abandon
      yield* images.deleteOldKeys
      const charge = { _tag: "Charged", amount: UsdMicro(1n) } as const
      return yield* Effect.flatMap(ImageReviews, (reviews) =>
        reviews.resolve(admission.requestId, charge, operator)
      ).pipe(Effect.provide(PgImageReviews.layer))
    })
  )
  expect(resolved).toMatchObject({ reason: "timeout", resolved: { operator } })
})

it("the restricted database role can neither change journals, nor delete orders, nor change the schema", async () => {
  const client = new Pg.Client(roleSettings())
  await client.connect()
  const refused = [
    "UPDATE transfer SET amount = 1",
    "DELETE FROM settlement",
    "UPDATE mint SET granted_tokens = 1",
    "DELETE FROM audit_log",
    "DELETE FROM topup_order",
    "DELETE FROM image_request",
    "DELETE FROM image_review",
    "TRUNCATE reseller CASCADE",
    "DROP TABLE price",
    "CREATE TABLE mine (id int)"
  ]
  for (const statement of refused) {
    await expect(client.query(statement), statement).rejects.toMatchObject({ code: "42501" })
  }
  await client.end()
})
