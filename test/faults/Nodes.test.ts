/**
 * Tests several nodes on one database.
 */
import { setTimeout as sleep } from "node:timers/promises"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { Email } from "@tollgate/domain/validation/Email"
import { Effect, Layer, ManagedRuntime } from "effect"
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest"
import { ServerProcess } from "../support/ServerProcess.ts"
import { StreamClient } from "../support/StreamClient.ts"
import * as TestDatabase from "../support/TestDatabase.ts"
import { type Customer, type SettlementRow, TestGateway, until } from "../support/TestGateway.ts"
import { asPlayed, type Play, PROMPT_TOKENS, played } from "../support/upstream/Play.ts"
import { signal, until as untilFired } from "../support/upstream/Script.ts"

const DEAD_AFTER_SECONDS = "1"
const operator = { actor: "test", reason: "required by a test" }

let a: TestGateway
let b: TestGateway

beforeAll(async () => {
  a = await TestGateway.start({ settings: { NODE_DEAD_AFTER_SECONDS: "3600" } })
  b = await TestGateway.start({ beside: a, settings: { NODE_DEAD_AFTER_SECONDS: "3600" } })
  a.upstream.always(asPlayed())
})
afterAll(async () => {
  await b.stop()
  await a.close()
})

const send = async (
  node: { readonly url: string },
  { key }: Customer,
  play: Play,
  more: object = {}
): Promise<Response> => {
  const messages = [{ role: "user", content: "Say hello." }]
  const response = await fetch(`${node.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages, max_tokens: play.deltas, ...played(play), ...more })
  })
  await response.arrayBuffer()
  return response
}

const revokeKeysOf = ({ email }: Customer): Promise<unknown> =>
  a.run(
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      return yield* Effect.forEach(yield* keys.list(Email.make(email)), ({ id }) => keys.revoke(id, operator))
    })
  )

/** Returns a function that sweeps the holds of dead nodes, as `tollgate holds sweep` does. */
const sweeping = () => {
  const holds = PgOpenHolds.layer({ nodeDeadAfterSeconds: 3_600 })
  const runtime = ManagedRuntime.make(Layer.provide(holds, TestDatabase.clientLayer(a.database)))
  return {
    sweep: () => runtime.runPromise(Effect.flatMap(OpenHolds, (open) => open.sweep)),
    dispose: () => runtime.dispose()
  }
}

/** Blocks the event loop of this process, and with it every node that runs in this process. */
/** Starts a gateway that settles the requests of dead nodes. It stops when the test has finished. */
const startSweeper = async (deadAfterSeconds: string): Promise<TestGateway> => {
  const sweeper = await TestGateway.start({ beside: a, settings: { NODE_DEAD_AFTER_SECONDS: deadAfterSeconds } })
  onTestFinished(() => sweeper.stop())
  return sweeper
}

const blockEventLoop = (millis: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis)
}

const holdsOf = async ({ userId }: Customer): Promise<number> =>
  (await a.query("SELECT FROM open_request WHERE user_id = $1", [userId])).length

const settlementsOf = ({ userId }: Customer): Promise<ReadonlyArray<SettlementRow>> =>
  a.query<SettlementRow>("SELECT * FROM settlement WHERE user_id = $1", [userId])

const sum = (amounts: ReadonlyArray<bigint>): bigint => amounts.reduce((all, amount) => all + amount, 0n)

describe("a balance at two nodes", () => {
  const play: Play = { deltas: 5 }

  /** Sends a request, and returns the amount that its hold sets aside, in micro-USD. */
  const heldMicro = async (): Promise<bigint> => {
    const proceed = signal()
    // With a larger balance, a hold sets aside one prompt token for each byte.
    const probe = await a.newCustomer(100n)
    a.upstream.always((request) => {
      const response = asPlayed()(request)
      return { ...response, steps: [() => proceed.fired, ...response.steps] }
    })
    const sending = send(a, probe, play)
    let held: bigint | undefined
    await until(async () => {
      const [hold] = await a.query<{ payg_pico: bigint }>("SELECT payg_pico FROM open_request WHERE user_id = $1", [
        probe.userId
      ])
      held = hold?.payg_pico
      return held !== undefined
    })
    proceed.fire()
    await sending
    return (held ?? 0n) / 1_000_000n
  }

  const race = async (customer: Customer, promptTokens: number): Promise<ReadonlyArray<number>> => {
    a.upstream.always(asPlayed())
    const sending = Array.from({ length: 200 }, (_, i) =>
      send(i % 2 === 0 ? a : b, customer, { ...play, promptTokens })
    )
    const statuses = (await Promise.all(sending)).map(({ status }) => status)
    expect(statuses.filter((status) => status !== 200 && status !== 402)).toEqual([])
    await a.settled()
    return statuses
  }

  it("admits as many of 200 parallel requests as it covers", async () => {
    const each = await heldMicro()
    const customer = await a.newCustomer(each * 10n)
    const statuses = await race(customer, Number(each) - 2 * play.deltas)
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    const settlements = await settlementsOf(customer)
    expect(settlements.filter(({ cost_pico }) => cost_pico > 0n)).toHaveLength(10)
    expect(sum(settlements.map(({ writeoff_pico }) => writeoff_pico))).toBe(0n)
    expect(await a.balances(customer)).toMatchObject({ paygPico: 0n })
    expect(await a.audit()).toEqual([])
  })

  it("pays only a part of the cost of the last admitted request", async () => {
    const each = await heldMicro()
    const customer = await a.newCustomer(each * 10n + each / 2n)
    const statuses = await race(customer, Number(each) - 2 * play.deltas)
    expect(statuses.filter((status) => status === 200)).toHaveLength(11)
    const settlements = await settlementsOf(customer)
    const paid = sum(settlements.map(({ payg_pico }) => payg_pico))
    const writtenOff = sum(settlements.map(({ writeoff_pico }) => writeoff_pico))
    expect(paid).toBe((each * 10n + each / 2n) * 1_000_000n)
    expect(paid + writtenOff).toBe(each * 11n * 1_000_000n)
    expect(await a.balances(customer)).toMatchObject({ paygPico: 0n })
    expect(await a.audit()).toEqual([])
  })
})

describe("a change on one node", () => {
  it("that revokes a key takes effect at the next request", async () => {
    const customers = await Promise.all(Array.from({ length: 10 }, () => a.newCustomer(1_000n)))
    for (const [i, customer] of customers.entries()) {
      // These requests put the key into the cache of both nodes.
      for (const node of [a, b]) expect((await send(node, customer, { deltas: 1 })).status).toBe(200)
      if (i % 2 === 0) await revokeKeysOf(customer)
      else await a.query("UPDATE api_key SET revoked_at = clock_timestamp() WHERE user_id = $1", [customer.userId])
      for (const node of [b, a]) expect((await send(node, customer, { deltas: 1 })).status).toBe(401)
    }
  })

  it("that revokes a key does not end an admitted stream", async () => {
    const customer = await a.newCustomer(100_000n)
    a.upstream.always(asPlayed())
    const client = StreamClient.open(b.url, customer.key, { deltas: 1_200, everyMillis: 1 })
    await client.received(1)
    await revokeKeysOf(customer)
    expect((await send(b, customer, { deltas: 1 })).status).toBe(401)
    expect(client.ending).toBeUndefined()
    // The hold grows after the revocation, because the stream is longer than its first slice of 1,024 tokens.
    expect(await client.over).toBe("done")
    expect(await a.settlementOf(client.requestId)).toMatchObject({ ending: "complete", charged_output: 1_200n })
  })

  it("to the catalog takes effect on both nodes", async () => {
    const customer = await a.newCustomer(10_000n)
    const proceed = signal()
    const before = StreamClient.open(b.url, customer.key, { deltas: 1_000, everyMillis: 5 })
    a.upstream.always(asPlayed(proceed))
    await before.received(1)
    const dearer = { input: 1_000_000, cache_read: 1_000_000, cache_write: 1_000_000, output: 20_000_000 }
    await a.applyCatalog({ model: { public_name: "m2", price_usd_micro_per_million_tokens: dearer } })
    await until(async () => (await send(b, customer, { deltas: 1 }, { model: "m2" })).status === 200)
    for (const node of [a, b]) expect((await send(node, customer, { deltas: 1 })).status).toBe(404)
    await a.applyCatalog({ model: { price_usd_micro_per_million_tokens: dearer } })
    await until(async () => (await send(b, customer, { deltas: 1 })).status === 200)

    proceed.fire()
    expect(await before.over).toBe("done")
    const settled = await a.settlementOf(before.requestId)
    const cost = BigInt(PROMPT_TOKENS) + 2n * BigInt(before.deltas.length)
    expect(settled.cost_pico).toBe(cost * 1_000_000n)
    await a.applyCatalog()
    await until(async () => {
      const after = await send(b, customer, { deltas: 1 })
      const { cost_pico } = await a.settlementOf(after.headers.get("x-request-id") ?? "")
      return cost_pico === (BigInt(PROMPT_TOKENS) + 2n) * 1_000_000n
    })
  })
})

describe("a live node", () => {
  it("charges no request twice after another node considered it dead", async () => {
    await startSweeper(DEAD_AFTER_SECONDS)
    const paused = await ServerProcess.beside(a, { NODE_DEAD_AFTER_SECONDS: DEAD_AFTER_SECONDS })
    const customer = await a.newCustomer(10_000n)
    const proceed = signal()
    a.upstream.always(asPlayed(proceed))
    const client = StreamClient.open(paused.url, customer.key, { deltas: 1_000, everyMillis: 20 })
    await until(async () => {
      const [hold] = await a.query<{ seen: bigint }>(
        "SELECT checkpoint_output AS seen FROM open_request WHERE user_id = $1",
        [customer.userId]
      )
      return hold !== undefined && hold.seen > 0n
    })
    paused.signal("SIGSTOP")
    const swept = await a.settlementOf(client.requestId)
    expect(swept).toMatchObject({ ending: "orphaned", usage_source: "checkpoint", writeoff_pico: 0n })
    const receivedSoFar = client.deltas.length
    paused.signal("SIGCONT")
    await client.received(receivedSoFar + 10)
    proceed.fire()

    expect(await client.over).toBe("done")
    a.upstream.always(asPlayed())
    const next = StreamClient.open(paused.url, customer.key, { deltas: 3 })
    expect(await next.over).toBe("done")
    const settled = await a.settlementOf(next.requestId)
    expect(settled).toMatchObject({ ending: "complete", charged_output: 3n })
    expect(await settlementsOf(customer)).toHaveLength(2)
    expect(await a.settlementOf(client.requestId)).toEqual(swept)
    const { paygPico } = await a.balances(customer)
    expect(paygPico).toBe(10_000n * 1_000_000n - swept.cost_pico - settled.cost_pico)
    expect(await paused.stop()).toEqual({ code: 0, signal: null })
    expect(await a.audit()).toEqual([])
  })

  it("does not deliver a response whose request another node has settled", async () => {
    await startSweeper(DEAD_AFTER_SECONDS)
    const paused = await ServerProcess.beside(a, { NODE_DEAD_AFTER_SECONDS: DEAD_AFTER_SECONDS })
    const customer = await a.newCustomer(10_000n)
    const proceed = signal()
    a.upstream.always((request) => {
      const whole = asPlayed()(request)
      return { ...whole, steps: [untilFired(proceed), ...whole.steps] }
    })
    const sending = send(paused, customer, { deltas: 3 })
    await until(async () => (await holdsOf(customer)) === 1)
    paused.signal("SIGSTOP")
    await until(async () => (await holdsOf(customer)) === 0)
    paused.signal("SIGCONT")
    proceed.fire()

    const response = await sending
    expect(response.status).toBe(503)
    const requestId = response.headers.get("x-request-id") ?? ""
    expect(await settlementsOf(customer)).toMatchObject([{ request_id: requestId, ending: "failed", cost_pico: 0n }])
    expect(paused.stderr).toContain("a sweep has already settled the request")
    a.upstream.always(asPlayed())
    expect((await send(paused, customer, { deltas: 3 })).status).toBe(200)
    expect(await paused.stop()).toEqual({ code: 0, signal: null })
    expect(await a.audit()).toEqual([])
  })

  it("does not count as dead while it gets a seventh of the processor time", async () => {
    await startSweeper("4")
    const starved = await ServerProcess.beside(a, { NODE_DEAD_AFTER_SECONDS: "4" })
    a.upstream.always(asPlayed())
    const client = StreamClient.open(starved.url, a.key, { deltas: 10_000, everyMillis: 20 })
    await client.received(1)
    for (let turn = 0; turn < 8; turn++) {
      starved.signal("SIGSTOP")
      await sleep(600)
      starved.signal("SIGCONT")
      await sleep(100)
    }
    // All nodes pause for longer than NODE_DEAD_AFTER_SECONDS.
    starved.signal("SIGSTOP")
    blockEventLoop(4_400)
    starved.signal("SIGCONT")
    await sleep(4_400)
    client.leave()
    expect(await a.settlementOf(client.requestId)).toMatchObject({ ending: "client_gone" })
    expect(await starved.stop()).toEqual({ code: 0, signal: null })
  })

  it("does not count as dead when event loops block and clocks jump", async () => {
    const nodes = await Promise.all([1, 2].map(() => startSweeper("3")))
    a.upstream.always(asPlayed())
    const clients = nodes.map(({ url }) => StreamClient.open(url, a.key, { deltas: 10_000, everyMillis: 20 }))
    for (const client of clients) await client.received(1)
    await sleep(3_600)
    for (const millis of [1_350, 2_700, 3_900]) {
      blockEventLoop(millis)
      await sleep(600)
    }
    await sleep(3_300)
    // A jump of the database's clock has the same effect on the age of each heartbeat.
    for (const hours of [-1, 1, 2, -2]) {
      await a.query("UPDATE gateway_node SET beat_at = beat_at + make_interval(hours => $1)", [hours])
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hours * 3_600_000 })
      await sleep(750)
    }
    vi.useRealTimers()
    for (const client of clients) {
      client.leave()
      expect(await a.settlementOf(client.requestId)).toMatchObject({ ending: "client_gone" })
    }
  })

  it("has each of its requests settled once despite sweeps", async () => {
    a.upstream.always(asPlayed())
    const customer = await a.newCustomer(1_000_000n)
    const { sweep, dispose } = sweeping()
    await sweep()
    const calls: Array<StreamClient> = []
    for (let round = 0; round < 10; round++) {
      // The streams end one after another. The sweep runs while some of them are still open.
      const clients = Array.from({ length: 30 }, (_, i) =>
        StreamClient.open((i % 2 === 0 ? a : b).url, customer.key, { deltas: 2 + i, everyMillis: 2 })
      )
      for (const client of clients) await client.received(1)
      // The test marks the nodes as deregistered in the database. The nodes are not informed and keep serving.
      await a.query("UPDATE gateway_node SET left_at = clock_timestamp()")
      await clients[10 + round]?.over
      await sweep()
      for (const client of clients) expect(await client.over).toBe("done")
      await a.settled()
      await a.query("UPDATE gateway_node SET left_at = NULL")
      calls.push(...clients)
    }
    await dispose()

    const settlements = new Map((await settlementsOf(customer)).map((row) => [row.request_id, row]))
    expect(settlements.size).toBe(calls.length)
    const complete = calls.filter(({ requestId }) => settlements.get(requestId)?.ending === "complete")
    expect(complete.length).toBeGreaterThan(0)
    expect(complete.length).toBeLessThan(calls.length)
    for (const { requestId, deltas } of calls) {
      const { ending, charged_output } = settlements.get(requestId) as SettlementRow
      const received = BigInt(deltas.length)
      if (ending === "complete") expect(charged_output).toBe(received)
      else expect(charged_output).toBeLessThanOrEqual(received)
    }
    const { paygPico } = await a.balances(customer)
    const charged = sum([...settlements.values()].map(({ cost_pico }) => cost_pico))
    expect(paygPico).toBe(1_000_000n * 1_000_000n - charged)
    expect(await a.audit()).toEqual([])
  })
})
