/**
 * Tests the alert rules and the Grafana dashboard of `deploy`. Some tests need promtool and prometheus on PATH.
 */
import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { cleanUpAfterFile } from "../support/Leftovers.ts"
import { TestGateway } from "../support/TestGateway.ts"
import { completion, usage } from "../support/upstream/ChatWire.ts"
import { json } from "../support/upstream/Script.ts"

const root = resolve(import.meta.dirname, "../..")
const folder = join(root, "deploy/prometheus")
const read = (path: string): string => readFileSync(join(root, path), "utf8")
const TOKEN = "the-token-of-the-scraped-metrics-0123456789"

const isInstalled = (program: string): boolean => {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}
const installed = isInstalled("promtool") && isInstalled("prometheus")
const MISSING = "promtool or prometheus is not on PATH; install them, on Debian with: apt-get install prometheus"

const freePort = (): Promise<number> =>
  new Promise((done, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number }
      server.close(() => done(port))
    })
  })

let gateway: TestGateway
let metricsPort: number

beforeAll(async () => {
  metricsPort = await freePort()
  gateway = await TestGateway.start({ settings: { METRICS_PORT: String(metricsPort), METRICS_TOKEN: TOKEN } })
  gateway.upstream.next(json(completion({ usage: usage(3, 2) })))
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", connection: "close" },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }] })
  })
  expect(response.status).toBe(200)
  await response.text()
})
afterAll(() => gateway.close())

const metricsPage = async (): Promise<string> => {
  const headers = { authorization: `Bearer ${TOKEN}`, connection: "close" }
  return (await fetch(`http://127.0.0.1:${metricsPort}/metrics`, { headers })).text()
}

/** Returns the names of the metrics of Tollgate in a text, without the suffixes of histograms. */
const namesIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/\btollgate_[a-z_]+\b/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, "")))

describe("the alert rules and the dashboard", () => {
  it("use only metrics that a server publishes", async () => {
    const published = namesIn((await metricsPage()).replace(/^(?!# TYPE).*$/gm, ""))
    const used = [...namesIn(read("deploy/prometheus/alerts.yml")), ...namesIn(read("deploy/grafana/tollgate.json"))]
    expect(used.length).toBeGreaterThan(25)
    expect(used.filter((name) => !published.has(name))).toEqual([])
  })

  it("have one row for each alert on the operations page", async () => {
    const page = read("docs/operations.md")
    const alerts = [...read("deploy/prometheus/alerts.yml").matchAll(/alert: (\w+)/g)].map(([, name]) => name)
    const rows = [...page.matchAll(/^\| `(Tollgate\w+)` \|/gm)].map(([, name]) => name)
    expect(rows).toEqual(alerts)
    const published = namesIn((await metricsPage()).replace(/^(?!# TYPE).*$/gm, ""))
    expect([...published].filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })

  it("have a unit test for each alert", () => {
    const alerts = [...read("deploy/prometheus/alerts.yml").matchAll(/alert: (\w+)/g)].map(([, name]) => name)
    const tests = read("deploy/prometheus/alerts.test.yml")
    const fired = [...tests.matchAll(/alertname: (\w+)\n +exp_alerts:/g)].map(([, name]) => name)
    expect([...fired].sort()).toEqual([...alerts].sort())
  })
})

describe("promtool", () => {
  const promtool = (input: string | undefined, ...args: ReadonlyArray<string>): string =>
    execFileSync("promtool", args, { cwd: folder, encoding: "utf8", ...(input === undefined ? {} : { input }) })

  it("accepts the rules and the configuration of Prometheus", ({ skip }) => {
    if (!installed) skip(MISSING)
    expect(promtool(undefined, "check", "rules", "alerts.yml")).toContain("SUCCESS")
    expect(promtool(undefined, "test", "rules", "alerts.test.yml")).toContain("SUCCESS")
    expect(promtool(undefined, "check", "config", "--syntax-only", "prometheus.yml")).toContain("SUCCESS")
  })

  it("finds no error in the metrics of Tollgate", async ({ skip }) => {
    if (!installed) skip(MISSING)
    // promtool also reports metric names that do not follow its conventions. Node.js defines these names.
    const page = (await metricsPage()).replace(/^(# (HELP|TYPE) )?(nodejs|process)_.*\n/gm, "")
    expect(promtool(page, "check", "metrics")).not.toMatch(/error while linting|parse/i)
  })
})

describe("a real Prometheus", () => {
  it("scrapes a server with METRICS_TOKEN", async ({ skip }) => {
    if (!installed) skip(MISSING)
    const directory = mkdtempSync(join(tmpdir(), "tollgate-prometheus-"))
    const token = join(directory, "token")
    writeFileSync(token, `${TOKEN}\n`)
    const config = read("deploy/prometheus/prometheus.yml")
      .replace("scrape_interval: 15s", "scrape_interval: 1s\n  evaluation_interval: 1s")
      .replace("/etc/prometheus/tollgate-metrics-token", token)
      .replace("127.0.0.1:9464", `127.0.0.1:${metricsPort}`)
      .replace("[alerts.yml]", `["${join(folder, "alerts.yml")}"]`)
    const file = join(directory, "prometheus.yml")
    writeFileSync(file, config)
    const port = await freePort()
    const child = spawn(
      "prometheus",
      [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(directory, "data")}`,
        `--web.listen-address=127.0.0.1:${port}`,
        "--log.level=warn"
      ],
      { stdio: ["ignore", "ignore", "pipe"] }
    )
    const log: Array<string> = []
    child.stderr.on("data", (chunk: Buffer) => log.push(chunk.toString("utf8")))
    const exited = new Promise<void>((done) => child.once("close", () => done()))
    const stop = async () => {
      child.kill("SIGKILL")
      await exited
    }
    cleanUpAfterFile(stop)
    try {
      const query = async (
        expression: string
      ): Promise<ReadonlyArray<{ readonly value: readonly [number, string] }>> => {
        if (child.exitCode !== null) throw new Error(`prometheus has ended:\n${log.join("")}`)
        const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`
        const response = await fetch(url, { headers: { connection: "close" } }).catch(() => undefined)
        return response?.ok === true ? (await response.json()).data.result : []
      }
      const untilValue = async (expression: string, expected: string) => {
        let value: string | undefined
        while (value !== expected) {
          await new Promise((done) => setTimeout(done, 200))
          value = (await query(expression))[0]?.value[1]
        }
      }
      await untilValue('up{job="tollgate"}', "1")
      await untilValue('sum(tollgate_settled_requests_total{model="m",ending="complete"}) > bool 0', "1")
      await untilValue('count(tollgate_build_info{job="tollgate"})', "1")
      const rules = await (
        await fetch(`http://127.0.0.1:${port}/api/v1/rules`, { headers: { connection: "close" } })
      ).json()
      const health = rules.data.groups.flatMap(({ rules: all }: { rules: ReadonlyArray<{ health: string }> }) =>
        all.map((rule) => rule.health)
      )
      expect(health.length).toBeGreaterThan(10)
      expect(health).not.toContain("err")
    } finally {
      await stop()
      rmSync(directory, { recursive: true, force: true })
    }
  })
})
