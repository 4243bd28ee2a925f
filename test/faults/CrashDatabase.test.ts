/**
 * Tests a gateway that serves many requests while its database has faults.
 *
 * FAULTS sets the maximum number of faults (default 4). A proof with a time limit can have fewer.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fromSocket } from "@tollgate/adapters-postgres/client/PgSettings"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import { Effect, Exit, Scope } from "effect"
import * as Pg from "pg"
import { afterAll, beforeAll, expect, it } from "vitest"
import { isProofOver, recordFigures } from "../support/Figures.ts"
import { StreamClient } from "../support/StreamClient.ts"
import { type Customer, type SettlementRow, TestGateway, until } from "../support/TestGateway.ts"
import { asPlayed, type Play, PROMPT_TOKENS, played } from "../support/upstream/Play.ts"
import { signal } from "../support/upstream/Script.ts"

const FAULTS = Number(process.env.FAULTS ?? 4)
const STREAMS = 15
const WHOLE_RESPONSES = 5
const CREDIT_USD_MICRO = 1_000_000n * BigInt(FAULTS)
const DEAD_AFTER_SECONDS = 1

interface ReceivedResponse {
  readonly requestId: string
  readonly status: number
  readonly tokens: number
  readonly body: string
}

const directory = mkdtempSync(join(tmpdir(), "tollgate-crash-"))
let postgres: Scope.CloseableScope
let gateway: TestGateway
let customer: Customer

/** Returns the directory of the socket. Postgres writes durably, because committed rows must survive its crash. */
const startPostgres = async (): Promise<string> => {
  postgres = Effect.runSync(Scope.make())
  const started = EmbeddedPostgres.start({ directory, parameters: { max_connections: "50" } })
  return (await Effect.runPromise(Scope.extend(started, postgres))).socketDir
}
const stopPostgres = () => Effect.runPromise(Scope.close(postgres, Exit.void))

beforeAll(async () => {
  const socketDir = await startPostgres()
  const url = `postgres://postgres@/postgres?host=${encodeURIComponent(socketDir)}`
  const settings = { NODE_DEAD_AFTER_SECONDS: String(DEAD_AFTER_SECONDS) }
  gateway = await TestGateway.start({ database: { settings: fromSocket(socketDir), url }, settings })
  gateway.upstream.always(asPlayed())
  customer = await gateway.newCustomer(CREDIT_USD_MICRO)
})
afterAll(async () => {
  await gateway.close()
  await stopPostgres()
  rmSync(directory, { recursive: true, force: true })
})

/** Uses a connection of this test, which Postgres can end. */
const withOwnConnection = async <A>(use: (client: Pg.Client) => Promise<A>): Promise<A> => {
  const client = new Pg.Client(gateway.database.settings)
  client.on("error", () => {})
  await client.connect()
  return use(client).finally(() => client.end().catch(() => {}))
}

const STOPPED = "Postgres is stopped for longer than NODE_DEAD_AFTER_SECONDS"

const faults = {
  "every connection except the one of this query is ended": () =>
    withOwnConnection(async (client) => {
      await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()`
      )
    }),
  // When any backend is killed, Postgres assumes that shared memory is damaged. It ends all backends and recovers.
  "a backend is killed": () =>
    withOwnConnection(async (client) => {
      const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")
      const ended = new Promise((resolve) => client.once("end", resolve))
      for (const { pid } of rows) process.kill(pid, "SIGKILL")
      await ended
    }),
  [STOPPED]: async () => {
    const finish = signal()
    gateway.upstream.always(asPlayed(finish))
    const spanning = Array.from({ length: 5 }, () => open({ deltas: 10_000, everyMillis: 20 }))
    await Promise.all(spanning.map((client) => client.received(1)))
    expect(spanning.map(({ status }) => status)).toEqual(spanning.map(() => 200))
    await stopPostgres()
    await sleep(1_500 * DEAD_AFTER_SECONDS)
    await startPostgres()
    // The streams continue for longer than NODE_DEAD_AFTER_SECONDS, so a wrong sweep would settle them.
    await sleep(1_500 * DEAD_AFTER_SECONDS)
    finish.fire()
    gateway.upstream.always(asPlayed())
    await Promise.all(spanning.map(record))
  }
}

const CYCLE: ReadonlyArray<keyof typeof faults> = [
  "every connection except the one of this query is ended",
  "a backend is killed",
  "every connection except the one of this query is ended",
  STOPPED,
  "a backend is killed"
]

const sequence = Array.from({ length: FAULTS }, (_, nth) => CYCLE[nth % CYCLE.length] as keyof typeof faults)

const responses: Array<ReceivedResponse> = []

const open = (play: Play): StreamClient => StreamClient.open(gateway.url, customer.key, play)

const record = async (client: StreamClient): Promise<void> => {
  const ending = await client.over
  const { body, deltas, requestId, status } = client
  if (status === 200) expect(ending).toBe("done")
  responses.push({ requestId, status, tokens: deltas.length, body })
}

const stream = (): Promise<void> => record(open({ deltas: 10, everyMillis: 10 }))

const wholeResponse = async (): Promise<void> => {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${customer.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }], ...played({ deltas: 10 }) })
  })
  const requestId = response.headers.get("x-request-id") ?? ""
  responses.push({ requestId, status: response.status, tokens: response.ok ? 10 : 0, body: await response.text() })
}

it(
  `each delivered response is charged once during ${sequence.length} database faults`,
  async () => {
    const happened: Array<keyof typeof faults> = []
    let stopped = false
    const keepSending = async (send: () => Promise<void>) => {
      while (!stopped) {
        await send()
        await sleep(20)
      }
    }
    const load = [
      ...Array.from({ length: STREAMS }, () => keepSending(stream)),
      ...Array.from({ length: WHOLE_RESPONSES }, () => keepSending(wholeResponse))
    ]
    const served = () => responses.filter(({ status }) => status === 200).length
    try {
      for (const fault of sequence) {
        if (isProofOver()) break
        happened.push(fault)
        const before = served()
        await until(() => served() > before + 3 * load.length)
        await faults[fault]()
        // The gateway must recover without being restarted.
        const after = served()
        await until(() => served() > after + 2 * load.length)
      }
    } finally {
      stopped = true
      await Promise.all(load)
    }
    await gateway.settled()

    const settlements = await gateway.query<SettlementRow>("SELECT * FROM settlement")
    const byId = new Map(settlements.map((row) => [row.request_id, row]))
    const delivered = responses.filter(({ status }) => status === 200)
    const wrong = delivered.filter(({ requestId, tokens }) => {
      const row = byId.get(requestId)
      return !(
        row?.ending === "complete" &&
        row.charged_output === BigInt(tokens) &&
        row.charged_input === BigInt(PROMPT_TOKENS)
      )
    })
    expect(wrong.map(({ requestId, tokens }) => ({ requestId, tokens, row: byId.get(requestId) }))).toEqual([])

    const paid = settlements.filter(({ cost_pico }) => cost_pico > 0n)
    expect(paid).toHaveLength(delivered.length)
    const charged = paid.reduce((sum, { payg_pico }) => sum + payg_pico, 0n)
    expect((await gateway.balances(customer)).paygPico).toBe(CREDIT_USD_MICRO * 1_000_000n - charged)
    expect(await gateway.audit()).toEqual([])

    // All responses that are not 200 are 503 overloaded, so the client can send these requests again.
    const refused = responses.filter(({ status }) => status !== 200)
    expect(refused.filter(({ status, body }) => status !== 503 || !body.includes('"overloaded"'))).toEqual([])

    recordFigures({
      "database faults": happened.length,
      "database faults that stopped Postgres": happened.filter((fault) => fault === STOPPED).length,
      "responses delivered completely, each charged exactly once": delivered.length,
      "requests refused with 503 overloaded": refused.length
    })
  },
  60_000 + FAULTS * 45_000
)
