/**
 * Runs the commands of docs/operations.md, "Going live with systemd", as an operator does: with a shell, curl, openssl,
 * the command line, a server in production and Postgres. A simulated OpenAI-compatible server is the provider.
 *
 * `sudo`, `psql` and `systemctl` are replaced by programs that a test can use. The first block of commands, which
 * installs and builds, and the query to Prometheus are not run.
 */
import { execFile, execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { bundled, CLI } from "../support/Bundle.ts"
import { commandsBelow, replaced } from "../support/DocumentedCommands.ts"
import { cleanUpAfterFile } from "../support/Leftovers.ts"
import { ScriptedUpstream } from "../support/ScriptedUpstream.ts"
import { administer } from "../support/TestCluster.ts"
import { completion, usage } from "../support/upstream/ChatWire.ts"
import { json } from "../support/upstream/Script.ts"

// The tests are skipped on a machine without these programs.
const hasTools = (() => {
  try {
    execFileSync("bash", ["-c", "command -v curl && command -v openssl"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
})()

const directory = mkdtempSync(join(tmpdir(), "tollgate-live-"))
const name = `live_${process.pid}_${Date.now()}`
let upstream: ScriptedUpstream
let metricsPort: number
let output: ReadonlyArray<string> = []

const freePort = (): Promise<number> =>
  new Promise((done) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => done(port))
    })
  })

const program = (called: string, text: string): void =>
  writeFileSync(join(directory, "bin", called), text, { mode: 0o755 })

const PSQL = (socketDir: string) => `#!/usr/bin/env node
const Pg = require(${JSON.stringify(createRequire(import.meta.url).resolve("pg"))})
const statements = require("node:fs").readFileSync(0, "utf8").trim().split("\\n")
const run = async () => {
  const client = new Pg.Client({ host: ${JSON.stringify(socketDir)}, user: "postgres", database: "postgres" })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  // The Postgres of the tests has synchronous_commit off, and \`tollgate doctor\` would report this as a fault.
  await client.query("ALTER DATABASE ${name} SET synchronous_commit = on")
  await client.end()
}
run()
`

const SYSTEMCTL = (server: string) => `#!/usr/bin/env node
const { openSync, readFileSync, writeFileSync } = require("node:fs")
const { parseEnv } = require("node:util")
const [verb] = process.argv.slice(2)
if (verb === "enable") {
  const unit = readFileSync(${JSON.stringify(join(directory, "etc/systemd/system/tollgate.service"))}, "utf8")
  const valueOf = (key) => new RegExp("^" + key + "=(.*)$", "m").exec(unit)[1]
  const file = valueOf("EnvironmentFile").replace("/etc/", ${JSON.stringify(`${directory}/etc/`)})
  const [, ...args] = valueOf("ExecStart").replace("apps/server/dist/main.js", ${JSON.stringify(server)}).split(" ")
  const log = openSync(${JSON.stringify(join(directory, "log"))}, "a")
  const child = require("node:child_process").spawn(process.execPath, args, {
    detached: true,
    stdio: ["ignore", log, log],
    env: { PATH: process.env.PATH, ...parseEnv(valueOf("Environment")), ...parseEnv(readFileSync(file, "utf8")) }
  })
  writeFileSync(${JSON.stringify(join(directory, "pid"))}, String(child.pid))
  child.unref()
}
`

const stopServer = (): void => {
  try {
    process.kill(Number(readFileSync(join(directory, "pid"), "utf8")), "SIGKILL")
  } catch {
    // The server was not started.
  }
}

beforeAll(async () => {
  if (!hasTools) return
  for (const folder of ["bin", "etc/systemd/system", "etc/prometheus"]) {
    mkdirSync(join(directory, folder), { recursive: true })
  }
  const socketDir = inject("postgresSocketDir")
  const cli = await bundled(CLI)
  program("sudo", '#!/bin/sh\nif [ "$1" = -u ]; then shift 2; fi\nexec "$@"\n')
  program("psql", PSQL(socketDir))
  program("systemctl", SYSTEMCTL(await bundled({ name: "server", entry: "apps/server/src/main.ts" })))
  upstream = await ScriptedUpstream.start()
  upstream.always(json(completion({ usage: usage(1_000, 500) })))
  metricsPort = await freePort()
  const port = await freePort()
  const [build, ...blocks] = commandsBelow("Going live with systemd")
  expect(build).toBe("npm ci\nnpm run build\nnpm prune --omit=dev\n")
  const commands = replaced(blocks.join("echo @@@\n"), [
    ["/etc/tollgate", join(directory, "etc/tollgate")],
    ["/etc/prometheus", join(directory, "etc/prometheus")],
    ["/etc/systemd/system", join(directory, "etc/systemd/system")],
    ["/opt/tollgate/apps/cli/bin/tollgate.js", cli],
    ["http://127.0.0.1:8000/v1", upstream.baseUrl],
    ["NODE_ENV=production\n", `NODE_ENV=production\nPORT=${port}\nMETRICS_PORT=${metricsPort}\n`],
    ["127.0.0.1:8080", `127.0.0.1:${port}`],
    ["ROLE tollgate ", `ROLE ${name} `],
    ["DATABASE tollgate OWNER tollgate", `DATABASE ${name} OWNER ${name}`],
    [
      "tollgate:$DATABASE_PASSWORD@127.0.0.1:5432/tollgate",
      `${name}:$DATABASE_PASSWORD@/${name}?host=${encodeURIComponent(socketDir)}`
    ],
    [" -g prometheus", ""],
    // test/deploy/Monitoring.test.ts runs a real Prometheus with this configuration.
    ["sleep 20\ncurl -fsS 'http://127.0.0.1:9090/api/v1/query?query=tollgate_settled_requests_total'\n", ""]
  ])
  cleanUpAfterFile(stopServer)
  const ran = promisify(execFile)("bash", ["--norc", "-c", `set -euo pipefail\n${commands}`], {
    cwd: join(import.meta.dirname, "../.."),
    env: { PATH: [join(directory, "bin"), dirname(process.execPath), process.env.PATH].join(":") }
  })
  const { stdout } = await ran.catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`a command failed:\n${error.stdout}${error.stderr}`)
  })
  output = stdout.split("@@@\n")
}, 300_000)

afterAll(async () => {
  stopServer()
  await upstream?.close()
  await Effect.runPromise(administer(inject("postgresSocketDir"), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
  await Effect.runPromise(administer(inject("postgresSocketDir"), `DROP ROLE IF EXISTS ${name}`))
  rmSync(directory, { recursive: true, force: true })
})

const outputOf = (text: string): string => output.find((printed) => printed.includes(text)) ?? output.join("")

describe.skipIf(!hasTools)("the commands of docs/operations.md for systemd", () => {
  it("start a server that passes tollgate doctor", () => {
    // The shell stops at the first command that fails, so `tollgate doctor` has found no fault.
    expect(outputOf("ready")).toContain('{"status":"ready"}')
    expect(readFileSync(join(directory, "log"), "utf8")).toContain("serving on http://127.0.0.1:")
  })

  it("lead to a charged chat completion", () => {
    expect(outputOf("chat.completion")).toContain('"content":"Hello there"')
    // 1,000 input tokens and 500 output tokens cost 50 + 50 micro-USD.
    expect(outputOf("4.9999")).toMatch(/4\.999900/)
    // `tollgate audit` also exits with 0 only if it finds no difference.
    expect(outputOf("invariant")).toMatch(/^ok /m)
  })

  it("write the configuration of Prometheus", async () => {
    const read = (file: string) => readFileSync(join(directory, "etc/prometheus", file), "utf8")
    expect(read("prometheus.yml")).toContain("credentials_file: /etc/prometheus/tollgate-metrics-token")
    expect(read("alerts.yml")).toContain("alert: TollgateDown")
    const url = `http://127.0.0.1:${metricsPort}/metrics`
    const token = read("tollgate-metrics-token").trim()
    const headers = { authorization: `Bearer ${token}`, connection: "close" }
    const page = await (await fetch(url, { headers })).text()
    expect(page).toMatch(/tollgate_settled_requests_total\{.*ending="complete".*\} 1/)
    expect((await fetch(url, { headers: { connection: "close" } })).status).toBe(401)
  })
})
