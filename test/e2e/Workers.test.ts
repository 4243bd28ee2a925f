/**
 * Tests a server with several workers: real processes behind one port, on one database.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { RestartPolicy } from "../../apps/server/src/workers/RestartPolicy.ts"
import { ServerProcess, type Settings } from "../support/ServerProcess.ts"
import { StreamClient } from "../support/StreamClient.ts"
import * as TestDatabase from "../support/TestDatabase.ts"
import { TestGateway, until } from "../support/TestGateway.ts"
import { asPlayed, PROMPT_TOKENS } from "../support/upstream/Play.ts"
import { signal } from "../support/upstream/Script.ts"

/** A gateway that owns the database and the upstream. Its own node settles nothing within these tests. */
let observer: TestGateway
/** A server with two workers. The test of SIGTERM stops this server, and later tests do not use it. */
let server: ServerProcess
let metricsPort: number

beforeAll(async () => {
  observer = await TestGateway.start({ settings: { NODE_DEAD_AFTER_SECONDS: "3600" } })
  metricsPort = await freePort()
  server = await start({ METRICS_PORT: String(metricsPort) })
})
afterAll(() => observer.close())

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

const start = (settings: Settings = {}): Promise<ServerProcess> =>
  ServerProcess.beside(observer, { WORKERS: "2", NODE_DEAD_AFTER_SECONDS: "3", ...settings })

const workersOf = ({ pid }: ServerProcess): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean).map(Number)

const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const refusesConnections = ({ url }: ServerProcess): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1")
    socket.once("connect", () => resolve(false)).once("error", () => resolve(true))
    socket.once("connect", () => socket.destroy())
  })

/** Returns the node of each request, by request id. */
const nodesOf = async (clients: ReadonlyArray<StreamClient>): Promise<ReadonlyMap<string, string>> => {
  const rows = await observer.query<{ request_id: string; node_id: string }>(
    "SELECT request_id, node_id FROM open_request WHERE request_id = ANY ($1)",
    [clients.map(({ requestId }) => requestId)]
  )
  return new Map(rows.map(({ request_id, node_id }) => [request_id, node_id]))
}

/** Returns the sum of a metric over its labels, as the server's metrics port reports it. */
const metric = async (port: number, name: string): Promise<number> => {
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const values = [...page.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (.+)$`, "gm"))].map(([, value]) => Number(value))
  return values.reduce((sum, value) => sum + value, 0)
}

describe("a server with two workers", () => {
  it("spreads requests over its nodes", async () => {
    const customer = await observer.newCustomer(1_000_000n)
    const go = signal()
    observer.upstream.always(asPlayed(go))
    const clients = Array.from({ length: 16 }, () =>
      StreamClient.open(server.url, customer.key, { deltas: 10_000, everyMillis: 20 })
    )
    for (const client of clients) await client.received(3)
    const nodes = [...(await nodesOf(clients)).values()]
    expect(nodes).toHaveLength(clients.length)
    expect(new Set(nodes).size).toBe(2)
    expect(await metric(metricsPort, "tollgate_open_streams")).toBe(clients.length)
    expect(await metric(metricsPort, "tollgate_workers")).toBe(2)

    go.fire()
    for (const client of clients) expect(await client.over).toBe("done")
    await observer.settled()
    let cost = 0n
    for (const { deltas, requestId } of clients) {
      const { charged_output, cost_pico, ending } = await observer.settlementOf(requestId)
      expect({ ending, charged_output }).toEqual({ ending: "complete", charged_output: BigInt(deltas.length) })
      expect(cost_pico).toBe((BigInt(PROMPT_TOKENS) + 2n * BigInt(deltas.length)) * 1_000_000n)
      cost += cost_pico
    }
    expect(await observer.balances(customer)).toMatchObject({ paygPico: 1_000_000n * 1_000_000n - cost })
    const deltas = clients.reduce((sum, client) => sum + client.deltas.length, 0)
    await until(async () => (await metric(metricsPort, "tollgate_requests_total")) === clients.length)
    expect(await metric(metricsPort, "tollgate_deltas_total")).toBe(deltas)
    expect(await metric(metricsPort, "tollgate_request_duration_seconds_count")).toBe(clients.length)
    expect(await metric(metricsPort, "tollgate_settled_requests_total")).toBe(clients.length)
    expect(await metric(metricsPort, "tollgate_spend_usd_total")).toBeCloseTo(Number(cost) / 1e12, 9)
    expect(await metric(metricsPort, "tollgate_route_time_to_first_token_seconds_count")).toBe(clients.length)
    expect(await metric(metricsPort, "tollgate_build_info")).toBe(1)
    expect(await metric(metricsPort, "tollgate_breaker_state")).toBe(0)

    expect(server.stderr.match(/serving on/g)).toHaveLength(1)
    const warnings = server.stderr.split("\n").filter((line) => line.includes("WARN") && !line.includes("payment"))
    expect(warnings).toEqual([])
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
  })

  it("replaces a killed worker", async () => {
    const customer = await observer.newCustomer(1_000_000n)
    const go = signal()
    observer.upstream.always(asPlayed(go))
    const clients = Array.from({ length: 6 }, () =>
      StreamClient.open(server.url, customer.key, { deltas: 10_000, everyMillis: 10 })
    )
    for (const client of clients) await client.received(3)
    const nodes = await nodesOf(clients)
    await until(async () => {
      const rows = await observer.query<{ seen: bigint }>("SELECT checkpoint_output AS seen FROM open_request")
      return rows.length === clients.length && rows.every(({ seen }) => seen > 0n)
    })
    const countedBefore = await metric(metricsPort, "tollgate_deltas_total")
    const [killed = 0, survivor = 0] = workersOf(server)
    process.kill(killed, "SIGKILL")
    const cut = (await Promise.all(clients.map(async (client) => [client, await endsSoon(client)] as const)))
      .filter(([, ended]) => ended)
      .map(([client]) => client)
    expect(cut.length).toBeGreaterThan(0)
    expect(cut.length).toBeLessThan(clients.length)
    const deadNode = nodes.get(cut[0]?.requestId ?? "")
    await until(async () => {
      const [row] = await observer.query<{ left: boolean }>(
        "SELECT left_at IS NOT NULL AS left FROM gateway_node WHERE id = $1",
        [deadNode]
      )
      return row?.left === true
    })

    for (const { deltas, ending, requestId } of cut) {
      expect(ending).toBe("cut")
      const settled = await observer.settlementOf(requestId)
      expect(settled).toMatchObject({ ending: "orphaned", usage_source: "checkpoint", writeoff_pico: 0n })
      expect(settled.charged_output).toBeGreaterThan(0n)
      expect(settled.charged_output).toBeLessThanOrEqual(BigInt(deltas.length))
    }
    await until(async () => (await metric(metricsPort, "tollgate_workers")) === 2)
    expect(workersOf(server)).toContain(survivor)
    expect(workersOf(server)).toHaveLength(2)
    expect(await metric(metricsPort, "tollgate_deltas_total")).toBeGreaterThanOrEqual(countedBefore)
    expect(server.stderr).toMatch(/a worker ended and is replaced .*reason="signal SIGKILL"/)
    expect(server.stderr).toMatch(/settled the holds of dead nodes.* worker=\d/)

    go.fire()
    for (const client of clients) await client.over
    await observer.settled()
    const complete = clients.filter((client) => !cut.includes(client))
    for (const { deltas, requestId } of complete) {
      expect(await observer.settlementOf(requestId)).toMatchObject({ charged_output: BigInt(deltas.length) })
    }
  })

  it("completes running streams on SIGTERM", async () => {
    const go = signal()
    observer.upstream.always(asPlayed(go))
    const clients = Array.from({ length: 4 }, () =>
      StreamClient.open(server.url, observer.key, { deltas: 10_000, everyMillis: 10 })
    )
    for (const client of clients) await client.received(3)
    const workers = workersOf(server)
    server.signal("SIGTERM")
    await until(() => refusesConnections(server))
    server.signal("SIGTERM")
    server.signal("SIGINT")
    for (const client of clients) await client.received(client.deltas.length + 10)
    go.fire()
    for (const client of clients) expect(await client.over).toBe("done")
    expect(await server.exited).toEqual({ code: 0, signal: null })
    expect(workers.filter(runs)).toEqual([])
    for (const { deltas, requestId } of clients) {
      expect(await observer.settlementOf(requestId)).toMatchObject({
        ending: "complete",
        charged_output: BigInt(deltas.length)
      })
    }
    expect(await observer.audit()).toEqual([])
  })

  it("drains its workers when the primary process is killed", async () => {
    const server = await start()
    const go = signal()
    observer.upstream.always(asPlayed(go))
    const client = StreamClient.open(server.url, observer.key, { deltas: 10_000, everyMillis: 10 })
    await client.received(3)
    const workers = workersOf(server)
    server.signal("SIGKILL")
    await client.received(client.deltas.length + 20)
    go.fire()
    expect(await client.over).toBe("done")
    await server.exited
    await until(() => !workers.some(runs))
    expect(await observer.settlementOf(client.requestId)).toMatchObject({
      ending: "complete",
      charged_output: BigInt(client.deltas.length)
    })
    expect(await observer.query("SELECT 1 FROM open_request")).toEqual([])
  })

  it("exits with 1 when workers die repeatedly", async () => {
    const server = await start()
    const [victim = 0, other = 0] = workersOf(server)
    process.kill(victim, "SIGKILL")
    while (!server.ended) {
      for (const pid of workersOf(server)) if (pid !== other) process.kill(pid, "SIGKILL")
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(await server.exited).toEqual({ code: 1, signal: null })
    expect(server.stderr).toMatch(
      /^tollgate: worker \d ended 5 times in succession within 10 seconds of its start; the last time: signal SIGKILL$/m
    )
    expect(server.stderr.match(/a worker ended and is replaced/g)).toHaveLength(4)
  })
})

describe("a server with WORKERS", () => {
  const refusal = async (settings: Settings): Promise<string> => {
    const server = await ServerProcess.launch({ DATABASE_URL: observer.database.url, ...settings })
    expect(await server.exited, server.stderr).toEqual({ code: 1, signal: null })
    return server.stderr
  }

  it("above 1 prints one message if the port is in use", async () => {
    const { port } = new URL(observer.url)
    const printed = await refusal({ WORKERS: "2", PORT: port })
    expect(printed).toBe(
      `tollgate: cannot listen on 127.0.0.1:${port} (bind EADDRINUSE 127.0.0.1:${port}); set HOST or PORT\n`
    )
  })

  it("set to auto starts the demo and the simulators once", async () => {
    const scope = Effect.runSync(Scope.make())
    const database = await Effect.runPromise(Scope.extend(TestDatabase.make("empty"), scope))
    const directory = mkdtempSync(join(tmpdir(), "tollgate-workers-"))
    try {
      const server = await ServerProcess.start({
        WORKERS: "auto",
        DATABASE_URL: database.url,
        DATA_DIR: directory,
        DEMO: "on",
        PAYMENTS_SIMULATOR: "on",
        PAYMENTS_SIM_PORT: "0",
        SIMULATOR_PORT: "0"
      })
      await server.printed(/Ctrl-C stops the server/)
      const key = /^ {2}key +(\S+)$/m.exec(server.stdout)?.[1] ?? ""
      const statuses = Array.from({ length: 4 }, async () => {
        const response = await fetch(`${server.url}/v1/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ model: "demo-chat", messages: [{ role: "user", content: "Hello!" }] })
        })
        await response.arrayBuffer()
        return response.status
      })
      expect(await Promise.all(statuses)).toEqual([200, 200, 200, 200])
      expect(await server.stop()).toEqual({ code: 0, signal: null })
      for (const line of ["database migrated", "catalog applied", "serving on", "payments are simulated"]) {
        expect(server.stderr.split(line), line).toHaveLength(2)
      }
      expect(server.stdout.split("Ctrl-C stops the server")).toHaveLength(2)
      expect(readdirSync(directory).sort()).toEqual(["demo-key", "jwt-secret", "key-pepper"])
    } finally {
      rmSync(directory, { recursive: true, force: true })
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  })
})

describe("a worker that died", () => {
  it("is replaced after a delay that doubles with each early death", () => {
    const restarts = new RestartPolicy()
    const delays = (...livedMillis: ReadonlyArray<number>) => livedMillis.map((lived) => restarts.afterDeath(lived))
    expect(delays(10_000, 0, 9_999, 0, 0)).toEqual([50, 100, 200, 400, 800])
    expect(delays(10_000, 0, 0, 0, 0, 0)).toEqual([50, 100, 200, 400, 800, undefined])
  })
})

/** Waits for the end of a stream whose server was killed. Returns false if the stream continues. */
const endsSoon = (client: StreamClient): Promise<boolean> => {
  const goesOn = client.received(client.deltas.length + 30).then(() => client.ending !== undefined)
  return Promise.race([client.over.then(() => true), goesOn])
}
