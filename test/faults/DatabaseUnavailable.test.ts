/**
 * Tests a gateway whose database refuses connections, closes them or does not respond.
 */
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { OperatorSessions } from "@tollgate/application/operator/OperatorSessions"
import { PasswordHasher } from "@tollgate/application/reseller/PasswordHasher"
import { Quota } from "@tollgate/application/reseller/Quota"
import { TokenSigner } from "@tollgate/application/reseller/ResellerAccess"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { OperatorName } from "@tollgate/domain/operator/OperatorSession"
import type { ClientAddress } from "@tollgate/domain/reseller/AttemptLimit"
import { QuotaChange } from "@tollgate/domain/reseller/QuotaAdjustment"
import { Email } from "@tollgate/domain/validation/Email"
import { Effect, Exit, Redacted, Scope } from "effect"
import OpenAI, { APIError } from "openai"
import { describe, expect, inject, it } from "vitest"
import { Cable } from "../adapters-postgres/client/Cable.ts"
import { administer } from "../support/TestCluster.ts"
import { TestGateway, until } from "../support/TestGateway.ts"
import { chunk, completion, usage, usageChunk } from "../support/upstream/ChatWire.ts"
import { done, event, json, script, signal, until as when } from "../support/upstream/Script.ts"

const messages = [{ role: "user" as const, content: "Say hello." }]
/** The time within which the gateway must refuse a request, whatever the state of the database. */
const REFUSAL_TIMEOUT_MILLIS = 6_500

/** The response timeout of the database, shorter than in production and longer than a statement on a busy machine. */
const RESPONSE_TIMEOUT_MILLIS = 5_000

const SOLD = { tiers: [{ tier_usd_cents: 100, granted_tokens: 1_000 }] }

interface GatewayWithDatabase {
  readonly gateway: TestGateway
  readonly makeUnavailable: () => Promise<void>
  readonly makeAvailable: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Makes the database refuse new connections and end the others, as for maintenance. */
const closedDatabase = async (): Promise<GatewayWithDatabase> => {
  const gateway = await TestGateway.start({ model: SOLD })
  const { database } = gateway.database.settings
  const admin = (statement: string) => Effect.runPromise(administer(inject("postgresSocketDir"), statement))
  return {
    gateway,
    makeUnavailable: async () => {
      await admin(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`)
      await admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`)
    },
    makeAvailable: () => admin(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`),
    close: () => gateway.close()
  }
}

/** Connects the gateway to its database through a proxy, the cable. `breakIt` makes the cable fail. */
const brokenCable = (breakIt: (cable: Cable) => void) => async (): Promise<GatewayWithDatabase> => {
  const scope = await Effect.runPromise(Scope.make())
  const host = inject("postgresSocketDir")
  const cable = await Effect.runPromise(Scope.extend(Cable.scoped({ host }), scope))
  const throughCable = encodeURIComponent(cable.settings.host ?? "")
  const gateway = await TestGateway.start({
    model: SOLD,
    responseTimeoutMillis: RESPONSE_TIMEOUT_MILLIS,
    reach: ({ url }) => url.replace(encodeURIComponent(host), throughCable)
  })
  return {
    gateway,
    makeUnavailable: async () => breakIt(cable),
    makeAvailable: async () => cable.mend(),
    close: async () => {
      await gateway.close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
}

const refusalOf = (call: Promise<unknown>): Promise<APIError> =>
  call.then(
    () => {
      throw new Error("the request was not refused")
    },
    (error: unknown) => {
      if (error instanceof APIError) return error
      throw error
    }
  )

const operator = { actor: "test", reason: "required by a test" }

const revokedKey = (gateway: TestGateway): Promise<string> =>
  gateway.run(
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const { key, secret } = yield* keys.create(Email.make(gateway.customer.email), "to be revoked", operator)
      yield* keys.revoke(key.id, operator)
      return Redacted.value(secret)
    })
  )

/** Returns the reseller token of an active reseller with a quota of 5 USD, and the token of an operator session. */
const tokensOf = (gateway: TestGateway): Promise<{ readonly reseller: string; readonly session: string }> =>
  gateway.run(
    Effect.gen(function* () {
      const resellers = yield* Resellers
      const passwordHash = yield* (yield* PasswordHasher).hash("signup", Redacted.make("a password of a reseller"))
      const email = Email.make("reseller@example.com")
      const { id } = yield* resellers.create({ email, name: "Toko Token", waNumber: "628123456789", passwordHash })
      yield* resellers.review(id, "approve", operator)
      const credit = { resellerId: id, change: QuotaChange(5_000_000n), operationId: OperationId.make("credit") }
      yield* (yield* Quota).adjust(credit, operator)
      const sessions = yield* OperatorSessions
      const { code } = yield* sessions.create(OperatorName.make("test"), operator)
      const { token } = yield* sessions.open(code, "127.0.0.1" as ClientAddress)
      const reseller = yield* (yield* TokenSigner).issue({ resellerId: id, tokenVersion: 0 })
      return { reseller: Redacted.value(reseller), session: Redacted.value(token) }
    })
  )

describe.concurrent("while the database", () => {
  it.each<readonly [does: string, start: () => Promise<GatewayWithDatabase>]>([
    ["refuses connections", closedDatabase],
    ["closes its connections", brokenCable((cable) => cable.cut())],
    ["does not respond", brokenCable((cable) => cable.freeze())]
  ])("%s, new requests receive 503 overloaded", async (_, start) => {
    const { gateway, makeUnavailable, makeAvailable, close } = await start()
    const { upstream } = gateway
    const clientOf = (apiKey: string) =>
      new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0, timeout: REFUSAL_TIMEOUT_MILLIS })
    const client = clientOf(gateway.key)
    // No request of this customer has been sent, so neither its key nor its balance is cached.
    const uncached = await gateway.newCustomer(1_000n)
    const revoked = await revokedKey(gateway)
    const probe = async (path: string) => (await fetch(`${gateway.url}${path}`)).status

    // One request for a stream and one for a whole response are open when the database fails.
    const mayFinish = signal()
    const hello = event(chunk({ content: " hello" }))
    const wholeResponse = json(completion({ content: [" hello"], usage: usage(70, 1) }))
    upstream.next(
      script({
        steps: [hello, when(mayFinish), hello, event(chunk({}, "stop")), event(usageChunk(usage(7, 2))), done]
      }),
      { ...wholeResponse, steps: [when(mayFinish), ...wholeResponse.steps] }
    )
    const stream = await client.chat.completions.create({ model: "m", messages, stream: true })
    let received = ""
    const streamed = (async () => {
      for await (const { choices } of stream) received += choices[0]?.delta.content ?? ""
    })()
    const response = client.chat.completions.create({ model: "m", messages }, { timeout: 60_000 })
    await until(() => upstream.requests.length === 2 && received === " hello")
    // The hold of the whole response may be written a few milliseconds after its provider was called.
    await until(async () => (await gateway.query("SELECT FROM open_request")).length === 2)
    expect(await probe("/readyz")).toBe(200)

    await makeUnavailable()
    const request = { model: "m", messages }
    // The balance is not ample for a stream with this prompt, so no provider is called before the hold is durable.
    const long = [{ role: "user" as const, content: "hello ".repeat(8_000) }]
    const refusals = await Promise.all([
      refusalOf(client.chat.completions.create(request)),
      refusalOf(client.chat.completions.create({ ...request, messages: long, stream: true })),
      refusalOf(clientOf(uncached.key).chat.completions.create(request)),
      refusalOf(clientOf(uncached.key).models.list().then()),
      // Without the database the gateway cannot read that this key is revoked, so the refusal is the same.
      refusalOf(clientOf(revoked).chat.completions.create(request))
    ])
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ status: 503, code: "overloaded" })
      expect(Number(refusal.headers?.get("retry-after"))).toBeGreaterThanOrEqual(1)
    }
    expect(await probe("/readyz")).toBe(503)
    expect(await probe("/healthz")).toBe(200)
    expect(upstream.requests).toHaveLength(2)

    // A stream finishes without the database. A whole response is written only after its settlement.
    mayFinish.fire()
    await streamed
    expect(received).toBe(" hello hello")
    await until(() => gateway.counters.openExchanges === 0)
    expect(gateway.counters.openRequests).toBe(1)

    await makeAvailable()
    expect((await response).choices[0]?.message.content).toBe(" hello")
    await gateway.settled()
    expect(await gateway.balanceUsdMicro()).toBe(1_000_000n - (7n + 2n * 2n) - (70n + 2n))
    await until(async () => (await probe("/readyz")) === 200)
    upstream.next(json(completion({ content: [" hello"], usage: usage(7, 1) })))
    expect((await refusalOf(clientOf(revoked).chat.completions.create(request))).code).toBe("invalid_api_key")
    expect((await clientOf(uncached.key).chat.completions.create(request)).choices).toHaveLength(1)
    expect(await gateway.balanceUsdMicro(uncached)).toBe(1_000n - 9n)
    await close()
  })

  it.each<readonly [does: string, start: () => Promise<GatewayWithDatabase>]>([
    ["refuses connections", closedDatabase],
    ["closes its connections", brokenCable((cable) => cable.cut())],
    ["does not respond", brokenCable((cable) => cable.freeze())]
  ])("%s, requests other than inference requests receive 503 overloaded", async (_, start) => {
    const { gateway, makeUnavailable, makeAvailable, close } = await start()
    const { reseller, session } = await tokensOf(gateway)
    const send = async (path: string, token: string, body?: object) => {
      const response = await fetch(`${gateway.url}${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const { error } = (await response.json()) as { readonly error?: { readonly code: string } }
      return [path, response.status, error?.code, response.headers.get("retry-after")]
    }
    const tier = await gateway.query<{ id: string }>("SELECT id FROM tier")
    const mint = {
      operation_id: "a mint during the outage",
      customer_email: gateway.customer.email,
      plan_tier_id: tier[0]?.id
    }
    const sendAll = () =>
      Promise.all([
        send("/v1/balance", gateway.key),
        send("/v1/usage", gateway.key),
        send("/api/reseller/balance", reseller),
        send("/api/reseller/customers", reseller, { email: "customer@example.com" }),
        send("/api/operator/resellers", session)
      ])
    for (const [path, status] of await sendAll()) expect([path, status]).toEqual([path, 200])

    await makeUnavailable()
    const others = [send("/api/rankings", ""), send("/api/reseller/mint", reseller, mint)]
    const refusals = (await Promise.all([sendAll(), Promise.all(others)])).flat()
    for (const [path, ...refusal] of refusals) expect([path, ...refusal]).toEqual([path, 503, "overloaded", "1"])

    await makeAvailable()
    await until(async () => (await fetch(`${gateway.url}/readyz`)).status === 200)
    for (const [path, status] of await sendAll()) expect([path, status]).toEqual([path, 200])
    expect((await send("/api/reseller/mint", reseller, mint)).slice(0, 2)).toEqual(["/api/reseller/mint", 200])
    const quota = await fetch(`${gateway.url}/api/reseller/balance`, {
      headers: { authorization: `Bearer ${reseller}` }
    })
    expect(await quota.json()).toMatchObject({ balance_usd_micro: "4000000" })
    await close()
  })
})
