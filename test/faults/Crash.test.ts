/**
 * Kills servers with SIGKILL while they serve customers, and compares each charge with the tokens at the client.
 *
 * KILLS sets the maximum number of servers that are killed (default 3). A proof with a time limit can kill fewer.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, beforeEach, expect, it } from "vitest"
import { isProofOver, recordFigures } from "../support/Figures.ts"
import { ServerProcess } from "../support/ServerProcess.ts"
import { StreamClient } from "../support/StreamClient.ts"
import { type Customer, type SettlementRow, TestGateway, until } from "../support/TestGateway.ts"
import { asPlayed, type Play, PROMPT_TOKENS } from "../support/upstream/Play.ts"
import { signal } from "../support/upstream/Script.ts"

const KILLS = Number(process.env.KILLS ?? 3)
/** A proof kills more servers. In the test suite, other test files need the processors too. */
const CLIENTS = KILLS > 3 ? 32 : 16
const CUSTOMERS = 5
const CREDIT_USD_MICRO = 250_000n * BigInt(KILLS)
const DEAD_AFTER_SECONDS = 2
/** The maximum age of a dead server's last checkpoint, as docs/operations.md states. */
const CHECKPOINT_AGE_MILLIS = 5_000

const PLAYS: ReadonlyArray<Play> = [
  { deltas: 3 },
  { deltas: 20, everyMillis: 15 },
  { deltas: 20, everyMillis: 15, unreported: true },
  { deltas: 60, everyMillis: 25 }
]
/** A stream of 30 seconds, unless `stop` ends it. */
const LONG: Play = { deltas: 1_000, everyMillis: 30 }

interface Server {
  readonly process: ServerProcess
  killedAtMillis: number
}

interface Call {
  readonly client: StreamClient
  readonly server: Server
  readonly play: Play
}

/** A gateway that owns the database and the upstream. It serves no requests and settles no holds of killed servers. */
let observer: TestGateway
let customers: ReadonlyArray<Customer>

let stop = signal()
let calls: Array<Call> = []
const openCalls = new Set<Call>()
/** The last checkpoint that the test has seen of each request, in output tokens. */
const checkpointed = new Map<string, bigint>()

beforeEach(async () => {
  stop = signal()
  calls = []
  openCalls.clear()
  checkpointed.clear()
  observer = await TestGateway.start({ settings: { NODE_DEAD_AFTER_SECONDS: "3600" } })
  observer.upstream.always(asPlayed(stop))
  customers = await Promise.all(Array.from({ length: CUSTOMERS }, () => observer.newCustomer(CREDIT_USD_MICRO)))
})
afterEach(() => observer.close())

const startServer = async (): Promise<Server> => ({
  process: await ServerProcess.beside(observer, { NODE_DEAD_AFTER_SECONDS: String(DEAD_AFTER_SECONDS) }),
  killedAtMillis: Number.POSITIVE_INFINITY
})

const keepCalling = async (nth: number, servers: ReadonlyArray<Server>, stopped: () => boolean): Promise<void> => {
  for (let round = nth; !stopped(); round++) {
    const alive = servers.filter(({ killedAtMillis }) => killedAtMillis === Number.POSITIVE_INFINITY)
    const server = alive[Math.floor(Math.random() * alive.length)] as Server
    const play = nth % 4 === 0 ? LONG : (PLAYS[round % PLAYS.length] as Play)
    const customer = customers[nth % CUSTOMERS] as Customer
    const call = { client: StreamClient.open(server.process.url, customer.key, play), server, play }
    openCalls.add(call)
    await call.client.over
    openCalls.delete(call)
    calls.push(call)
  }
}

const rememberCheckpoints = async (): Promise<void> => {
  const holds = await observer.query<{ request_id: string; checkpoint_output: bigint }>(
    "SELECT request_id, checkpoint_output FROM open_request WHERE checkpoint_output > 0"
  )
  for (const { request_id, checkpoint_output } of holds) checkpointed.set(request_id, checkpoint_output)
}

const hasCheckpointAt = async (server: Server): Promise<boolean> => {
  await rememberCheckpoints()
  return [...openCalls].some((call) => call.server === server && checkpointed.has(call.client.requestId))
}

const isStreaming = (server: Server): boolean =>
  [...openCalls].some((call) => call.server === server && call.client.deltas.length > 0)

it(
  `no request is lost or charged twice when servers are killed ${KILLS} times`,
  async () => {
    const servers = [await startServer(), await startServer()]
    let stopped = false
    const load = Array.from({ length: CLIENTS }, (_, nth) => keepCalling(nth, servers, () => stopped))

    let kills = 0
    for (; kills < KILLS && !isProofOver(); kills++) {
      // One of the two servers runs longer, so that some streams are old and have several checkpoints.
      const which = kills % 5 === 4 ? 1 : 0
      const victim = servers[which] as Server
      const callsBefore = calls.length
      await until(() => calls.length > callsBefore + CLIENTS / 4)
      // A server that has just started may not serve a stream yet. Its kill would interrupt nothing.
      await until(() => isStreaming(victim))
      await sleep(Math.random() * 400)
      // Only the first kill waits for a checkpoint. The other kills interrupt a server at a random instant.
      if (kills === 0) await until(() => hasCheckpointAt(victim))
      await rememberCheckpoints()
      victim.killedAtMillis = performance.now()
      await victim.process.kill()
      servers[which] = await startServer()
    }
    stopped = true
    stop.fire()
    await Promise.all(load)

    // The remaining servers settle the holds of the dead servers.
    await observer.settled()
    for (const { process } of servers) expect(await process.stop()).toEqual({ code: 0, signal: null })

    const settlements = new Map(
      (await observer.query<SettlementRow>("SELECT * FROM settlement")).map((row) => [row.request_id, row])
    )
    const served = calls.filter(({ client }) => client.status === 200)
    const wrong = served.flatMap((call) => {
      const row = settlements.get(call.client.requestId)
      const faults = row === undefined ? ["not settled"] : faultsOf(call, row)
      return faults.map((fault) => `${fault}: ${describeCall(call, row)}`)
    })
    expect(wrong).toEqual([])
    expect(calls.filter(({ client }) => client.ending === "refused").map(({ client }) => client.body)).toEqual([])

    const known = new Set(served.map(({ client }) => client.requestId))
    const unreceived = [...settlements.values()].filter(({ request_id }) => !known.has(request_id))
    expect(unreceived.filter(({ cost_pico }) => cost_pico > 0n)).toEqual([])

    for (const customer of customers) {
      const [charged] = await observer.query<{ pico: string; written_off: string }>(
        `SELECT coalesce(sum(payg_pico), 0) AS pico, coalesce(sum(writeoff_pico), 0) AS written_off
       FROM settlement WHERE user_id = $1`,
        [customer.userId]
      )
      const { paygPico } = await observer.balances(customer)
      expect(paygPico).toBe(CREDIT_USD_MICRO * 1_000_000n - BigInt(charged?.pico ?? "0"))
      expect(charged?.written_off).toBe("0")
    }
    expect(await observer.audit()).toEqual([])

    // The test is meaningful only if these cases occurred.
    const orphaned = [...settlements.values()].filter(({ ending }) => ending === "orphaned")
    expect(orphaned.length).toBeGreaterThan(0)
    // An interrupted request without a checkpoint is settled as failed.
    const failed = [...settlements.values()].filter(({ ending }) => ending === "failed")
    expect(orphaned.length + failed.length).toBeGreaterThan(kills / 2)
    expect([...checkpointed.keys()].filter((id) => settlements.get(id)?.ending === "orphaned").length).toBeGreaterThan(
      0
    )
    const complete = served.filter(({ client }) => client.ending === "done")
    expect(complete.length).toBeGreaterThan(kills * 10)

    const received = served.reduce((sum, { client }) => sum + client.deltas.length, 0)
    const charged = [...settlements.values()].reduce((sum, row) => sum + row.charged_output, 0n)
    recordFigures({
      "servers killed": kills,
      "streams that the clients received completely": complete.length,
      "streams that a kill cut": served.length - complete.length,
      "requests settled by another server": orphaned.length,
      "output tokens that the clients received": received,
      "output tokens that were charged": charged,
      "requests with a wrong charge": wrong.length
    })
  },
  240_000 + KILLS * 20_000
)

const faultsOf = ({ client, server, play }: Call, row: SettlementRow): ReadonlyArray<string> => {
  const received = BigInt(client.deltas.length)
  const faults: Array<string> = []
  if (row.charged_output > received) faults.push("charged for more than the client received")
  if (row.charged_input > BigInt(PROMPT_TOKENS)) faults.push("charged for more than the reported prompt")
  if (received === 0n && row.cost_pico > 0n) faults.push("charged although the client received nothing")
  if (row.charged_output < (checkpointed.get(client.requestId) ?? 0n)) faults.push("charged less than its checkpoint")

  // A server can die after the end of a stream and before the stream is settled.
  const hadTime = client.endedAtMillis < server.killedAtMillis - CHECKPOINT_AGE_MILLIS
  if (client.ending === "done" && row.ending === "complete") {
    if (row.charged_output !== received) faults.push("the charged output differs from the received output")
    if (!play.unreported && row.charged_input !== BigInt(PROMPT_TOKENS))
      faults.push("the charged prompt differs from the reported prompt")
  } else if (client.ending === "done" && hadTime) {
    faults.push("received completely, but not settled as complete")
  } else if (row.ending !== "orphaned" && row.ending !== "failed") {
    faults.push("cut, but settled neither as orphaned nor as failed")
  } else {
    const old = client.deltas.filter((at) => at < server.killedAtMillis - CHECKPOINT_AGE_MILLIS).length
    if (row.charged_output < BigInt(old)) faults.push("the last checkpoint was too old")
  }
  return faults
}

const describeCall = ({ client, play, server }: Call, row: SettlementRow | undefined): string =>
  JSON.stringify({
    request: client.requestId,
    play,
    ending: client.ending,
    received: client.deltas.length,
    lastedMillis: Math.round(client.endedAtMillis - client.openedAtMillis),
    endedBeforeKillMillis: Math.round(server.killedAtMillis - client.endedAtMillis),
    settled: row && { ending: row.ending, source: row.usage_source, output: String(row.charged_output) }
  })
