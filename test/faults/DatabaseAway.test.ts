/**
 * Tests a gateway whose database refuses connections, closes them or does not respond. The gateway serves no new request and
 * refuses no valid key as invalid. Open requests finish and are charged, at the latest when the database is back.
 */
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
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
const PATIENCE_MILLIS = 6_500

/** A gateway, and functions that make its database unavailable and available again. */
interface Setting {
  readonly gateway: TestGateway
  readonly goAway: () => Promise<void>
  readonly comeBack: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Makes the database refuse connections, as for maintenance. */
const closedDatabase = async (): Promise<Setting> => {
  const gateway = await TestGateway.start()
  const { database } = gateway.database.settings
  const admin = (statement: string) => Effect.runPromise(administer(inject("postgresSocketDir"), statement))
  return {
    gateway,
    goAway: async () => {
      await admin(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`)
      await admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`)
    },
    comeBack: () => admin(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`),
    close: () => gateway.close()
  }
}

/** Connects the gateway to its database through a proxy, the cable. `breakIt` makes the cable fail. */
const brokenCable = (breakIt: (cable: Cable) => void) => async (): Promise<Setting> => {
  const scope = await Effect.runPromise(Scope.make())
  const host = inject("postgresSocketDir")
  const cable = await Effect.runPromise(Scope.extend(Cable.scoped({ host }), scope))
  const throughCable = encodeURIComponent(cable.settings.host ?? "")
  const gateway = await TestGateway.start({
    reach: ({ url }) => url.replace(encodeURIComponent(host), throughCable)
  })
  return {
    gateway,
    goAway: async () => breakIt(cable),
    comeBack: async () => cable.mend(),
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

describe.concurrent("while the database", () => {
  it.each<readonly [does: string, set: () => Promise<Setting>]>([
    ["refuses connections", closedDatabase],
    ["closes its connections", brokenCable((cable) => cable.cut())],
    ["does not respond", brokenCable((cable) => cable.freeze())]
  ])("%s, new requests receive 503 overloaded, and open requests finish and are charged", async (_, set) => {
    const { gateway, goAway, comeBack, close } = await set()
    const { upstream } = gateway
    const clientOf = (apiKey: string) =>
      new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0, timeout: PATIENCE_MILLIS })
    const client = clientOf(gateway.key)
    const stranger = await gateway.newCustomer(1_000n)
    const revoked = await revokedKey(gateway)
    const probe = async (path: string) => (await fetch(`${gateway.url}${path}`)).status

    // One request for a stream and one for a whole response are open when the database fails.
    const goOn = signal()
    const hello = event(chunk({ content: " hello" }))
    const answer = json(completion({ content: [" hello"], usage: usage(70, 1) }))
    upstream.next(
      script({ steps: [hello, when(goOn), hello, event(chunk({}, "stop")), event(usageChunk(usage(7, 2))), done] }),
      { ...answer, steps: [when(goOn), ...answer.steps] }
    )
    const stream = await client.chat.completions.create({ model: "m", messages, stream: true })
    let heard = ""
    const streamed = (async () => {
      for await (const { choices } of stream) heard += choices[0]?.delta.content ?? ""
    })()
    const answered = client.chat.completions.create({ model: "m", messages }, { timeout: 60_000 })
    await until(() => upstream.requests.length === 2 && heard === " hello")
    expect(await probe("/readyz")).toBe(200)

    await goAway()
    const asking = { model: "m", messages }
    // The balance is not ample for a stream with this prompt, so its provider is not called before the hold is durable.
    const long = [{ role: "user" as const, content: "hello ".repeat(8_000) }]
    const refusals = await Promise.all([
      refusalOf(client.chat.completions.create(asking)),
      refusalOf(client.chat.completions.create({ ...asking, messages: long, stream: true })),
      refusalOf(clientOf(stranger.key).chat.completions.create(asking)),
      refusalOf(clientOf(stranger.key).models.list().then()),
      // Without the database the gateway cannot read that this key is revoked, so the refusal is the same.
      refusalOf(clientOf(revoked).chat.completions.create(asking))
    ])
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ status: 503, code: "overloaded" })
      expect(Number(refusal.headers?.get("retry-after"))).toBeGreaterThanOrEqual(1)
    }
    expect(await probe("/readyz")).toBe(503)
    expect(await probe("/healthz")).toBe(200)
    expect(upstream.requests).toHaveLength(2)

    // A stream finishes without the database. A whole response is written only after its settlement.
    goOn.fire()
    await streamed
    expect(heard).toBe(" hello hello")
    await until(() => gateway.counters.openExchanges === 0)
    expect(gateway.counters.openRequests).toBe(1)

    await comeBack()
    expect((await answered).choices[0]?.message.content).toBe(" hello")
    await gateway.settled()
    expect(await gateway.balanceUsdMicro()).toBe(1_000_000n - (7n + 2n * 2n) - (70n + 2n))
    await until(async () => (await probe("/readyz")) === 200)
    upstream.next(json(completion({ content: [" hello"], usage: usage(7, 1) })))
    expect((await refusalOf(clientOf(revoked).chat.completions.create(asking))).code).toBe("invalid_api_key")
    expect((await clientOf(stranger.key).chat.completions.create(asking)).choices).toHaveLength(1)
    expect(await gateway.balanceUsdMicro(stranger)).toBe(1_000n - 9n)
    await close()
  })
})
