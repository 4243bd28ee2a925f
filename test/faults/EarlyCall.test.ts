/**
 * Freezes the connection of a server to its database. The server has cached a customer with an ample balance, and
 * therefore sends a request of this customer to the upstream before the hold is durable.
 *
 * KILLS sets the number of servers that are killed (default 3).
 */
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { Cable } from "../adapters-postgres/client/Cable.ts"
import { ServerProcess } from "../support/ServerProcess.ts"
import { StreamClient } from "../support/StreamClient.ts"
import { type Customer, TestGateway, until } from "../support/TestGateway.ts"
import { asPlayed, PROMPT_TOKENS } from "../support/upstream/Play.ts"

const KILLS = Number(process.env.KILLS ?? 3)
const AMPLE_USD_MICRO = 1_000_000_000n
const DEAD_SOON = { NODE_DEAD_AFTER_SECONDS: "1" }
/** The time in which content would arrive if it were written too early. */
const QUIET_MILLIS = 250

const scope = Effect.runSync(Scope.make())
let cable: Cable
/** Uses the database directly. It provides the catalog, the customers and the upstream. */
let observer: TestGateway

/** Returns the URL of the observer's database through the cable, which is a proxy that the test can freeze. */
const throughCable = (): string =>
  observer.database.url.replace(
    encodeURIComponent(inject("postgresSocketDir")),
    encodeURIComponent(cable.settings.host ?? "")
  )

beforeAll(async () => {
  cable = await Effect.runPromise(Scope.extend(Cable.scoped({ host: inject("postgresSocketDir") }), scope))
  observer = await TestGateway.start({ settings: DEAD_SOON })
  observer.upstream.always(asPlayed())
})
afterAll(async () => {
  cable.mend()
  await observer.close()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const startServer = () => ServerProcess.beside(observer, { DATABASE_URL: throughCable(), ...DEAD_SOON })

/** Makes one request. The server then has the key and the balance of the customer in its caches. */
const fillCaches = async (server: ServerProcess, customer: Customer): Promise<void> => {
  expect(await StreamClient.open(server.url, customer.key, { deltas: 1 }).over).toBe("done")
  await observer.settled()
}

/** Returns the process ids of the database sessions of all ledgers. */
const ledgerSessions = async (): Promise<ReadonlyArray<number>> => {
  const sessions = await observer.query<{ readonly pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tollgate ledger'"
  )
  return sessions.map(({ pid }) => pid)
}

describe("a server with a frozen database", () => {
  it("writes no byte before the database responds again", async () => {
    const server = await startServer()
    const customer = await observer.newCustomer(AMPLE_USD_MICRO)
    await fillCaches(server, customer)
    const before = observer.upstream.requests.length
    cable.freeze()
    const client = StreamClient.open(server.url, customer.key, { deltas: 20 })
    await observer.upstream.received()
    expect((await observer.upstream.received()).json()).toMatchObject({ play: { deltas: 20 } })
    await sleep(QUIET_MILLIS)
    expect([client.status, client.frames.length]).toEqual([0, 0])
    expect(observer.upstream.requests.length).toBe(before + 1)
    cable.mend()
    expect(await client.over).toBe("done")
    expect(client.deltas.length).toBe(20)
    const settled = await observer.lastSettlement()
    expect([settled.charged_input, settled.charged_output]).toEqual([BigInt(PROMPT_TOKENS), 20n])
    await server.stop()
  })

  it(
    `charges nothing when it is killed before the hold is durable, ${KILLS} times`,
    async () => {
      let holdsAfterDeath = 0
      let kills = 0
      let waits = 0
      while (kills < KILLS) {
        const others = await ledgerSessions()
        const server = await startServer()
        const customer = await observer.newCustomer(AMPLE_USD_MICRO)
        await fillCaches(server, customer)
        const before = observer.upstream.requests.length
        const balance = await observer.balanceUsdMicro(customer)
        cable.freeze()
        const client = StreamClient.open(server.url, customer.key, { deltas: 20 })
        while (observer.upstream.requests.length === before && client.ending === undefined) await sleep(5)
        await sleep(20)
        await server.kill()
        if (observer.upstream.requests.length === before) {
          // The server may wait for the database first, for example if its last transaction has not ended.
          expect([client.ending, client.status]).toEqual(["refused", 503])
          expect(++waits).toBeLessThanOrEqual(Math.ceil(KILLS / 10))
        } else {
          kills++
          expect(await client.over).toBe("unanswered")
        }
        // The statement that writes the hold is in the cable. The database receives it after the death of the server.
        // The observer then settles the request.
        cable.mend()
        await until(async () => (await ledgerSessions()).every((pid) => others.includes(pid)))
        await observer.settled()
        const settled = await observer.query<{ readonly cost_pico: bigint }>(
          "SELECT cost_pico FROM settlement WHERE user_id = $1 AND ending <> 'complete'",
          [customer.userId]
        )
        for (const { cost_pico } of settled) expect(cost_pico).toBe(0n)
        holdsAfterDeath += settled.length
        expect(await observer.balanceUsdMicro(customer)).toBe(balance)
      }
      // The test is meaningful only if the database received the hold of at least one killed server.
      expect(holdsAfterDeath).toBeGreaterThan(0)
    },
    120_000 + KILLS * 15_000
  )
})
