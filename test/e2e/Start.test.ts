/**
 * Tests the start of a server: refusals to start, `npm start`, and parallel starts.
 */
import { execFile, execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { Environment, readServerConfig } from "@tollgate/composition/ServerConfig"
import { floorToUsd, UsdPico } from "@tollgate/domain/money/UsdPico"
import { Effect, Either, Exit, Option, Schema, SchemaAST, Scope } from "effect"
import * as Pg from "pg"
import { PNG } from "pngjs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as CommandLine from "../cli/CommandLine.ts"
import { ServerProcess, type Settings } from "../support/ServerProcess.ts"
import * as TestDatabase from "../support/TestDatabase.ts"
import { TEST_PEPPER } from "../support/TestGateway.ts"

const run = promisify(execFile)
const directory = mkdtempSync(join(tmpdir(), "tollgate-start-"))
const scope = Effect.runSync(Scope.make())
let migrated: TestDatabase.Database
let empty: TestDatabase.Database

beforeAll(async () => {
  const make = (contents: "migrated" | "empty") => Effect.runPromise(Scope.extend(TestDatabase.make(contents), scope))
  ;[migrated, empty] = await Promise.all([make("migrated"), make("empty")])
})
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(directory, { recursive: true, force: true })
})

/** Starts a server that must exit with code 1 without serving. Returns the lines that it has printed. */
const refusal = async (settings: Settings): Promise<ReadonlyArray<string>> => {
  const server = await ServerProcess.launch(settings)
  expect(await server.exited, server.stderr).toEqual({ code: 1, signal: null })
  expect(server.stdout).toBe("")
  return server.stderr.trimEnd().split("\n")
}

/** Returns the lines that a server with these settings prints. */
const configRefusal = (settings: Settings): ReadonlyArray<string> =>
  Either.match(readServerConfig({ NODE_ENV: "test", PAYMENTS_SIMULATOR: "off", ...settings }), {
    onLeft: (lines) => lines.map((line) => `tollgate: ${line}`),
    onRight: () => []
  })

describe("a server that cannot start prints the reason", () => {
  const STRONG = "uR7xkT2mVq9Lw4Zc8Jh3Nf6Yb1Gs5Pd0"
  const production = { NODE_ENV: "production", JWT_SECRET: STRONG, KEY_PEPPER: STRONG }
  const file = (name: string, text: string): string => {
    const path = join(directory, name)
    writeFileSync(path, text)
    return path
  }

  it("if settings are invalid, and the message contains no secret values", async () => {
    const wrong = {
      NODE_ENV: "staging",
      HOST: "my gateway",
      PORT: "abc",
      WORKERS: "0",
      DATABASE_URL: "mysql://user:hunter2@db/x",
      DEMO: "maybe",
      JWT_SECRET: "hunter2",
      TRUSTED_PROXIES: "10.0.0.0/8, hunter2",
      CORS_ORIGIN: "app.example.com",
      METRICS_HOST: "0.0.0.0:9464",
      CUSTOMER_LINK_POLICY: "maybe",
      BSC_LOG_RANGE: "0",
      TOPUP_QRIS_MAX: "1e9",
      KEY_PEPPER: "hunter2",
      KEY_PREFIX: "T G",
      KEEPALIVE_SECONDS: "1.5",
      DRAIN_SECONDS: "3600",
      NODE_DEAD_AFTER_SECONDS: "0"
    }
    const lines = await refusal(wrong)
    expect(lines.map((line) => /^tollgate: (\w+): .+ is needed$/.exec(line)?.[1]).sort()).toEqual(
      Object.keys(wrong).sort()
    )
    expect(lines.join("\n")).not.toContain("hunter2")
  })

  it("when production has development settings", () => {
    const bare = configRefusal({ NODE_ENV: "production", DEMO: "on" })
    const weak = configRefusal({
      NODE_ENV: "production",
      JWT_SECRET: "a".repeat(40),
      KEY_PEPPER: "my-own-secret-pepper-1234567890-xyz"
    })
    expect(bare).toEqual([
      expect.stringMatching(/^tollgate: DEMO: /),
      expect.stringMatching(/^tollgate: JWT_SECRET: required/),
      expect.stringMatching(/^tollgate: KEY_PEPPER: required/)
    ])
    expect(weak).toEqual([
      expect.stringMatching(/^tollgate: JWT_SECRET: too weak/),
      expect.stringMatching(/^tollgate: KEY_PEPPER: too weak/)
    ])
  })

  it("when the metrics would listen on the public port", () => {
    const refused = ["tollgate: METRICS_PORT: must differ from PORT"]
    expect(configRefusal({ PORT: "9464" })).toEqual(refused)
    expect(configRefusal({ PORT: "9464", HOST: "0.0.0.0" })).toEqual(refused)
    expect(configRefusal({ PORT: "8080", METRICS_PORT: "8080", METRICS_HOST: "::" })).toEqual(refused)
    expect(configRefusal({ PORT: "9464", HOST: "10.0.0.5" })).toEqual([])
    expect(configRefusal({ PORT: "0", METRICS_PORT: "0" })).toEqual([])
  })

  it("when settings contradict each other", () => {
    const half = configRefusal({
      JWT_SECRET_PREVIOUS: STRONG,
      KEY_PEPPER_PREVIOUS: STRONG,
      TRIPAY_API_KEY: "hunter2",
      PAYMENTS_SIMULATOR: "on",
      TOPUP_QRIS_MIN: "2000000",
      TOPUP_QRIS_MAX: "1000000"
    })
    const unfit = configRefusal({
      ...production,
      PAYMENTS_SIMULATOR: "on",
      MIDTRANS_BASE_URL: "https://api.sandbox.midtrans.com",
      MIDTRANS_SERVER_KEY: "hunter2"
    })
    expect(half).toEqual([
      "tollgate: JWT_SECRET: required if JWT_SECRET_PREVIOUS is set",
      "tollgate: KEY_PEPPER: required if KEY_PEPPER_PREVIOUS is set",
      expect.stringMatching(
        /^tollgate: TRIPAY_PRIVATE_KEY, TRIPAY_MERCHANT_CODE: required together with TRIPAY_API_KEY;/
      ),
      expect.stringMatching(/^tollgate: PAYMENTS_SIMULATOR: cannot be used together with a payment provider;/),
      "tollgate: TOPUP_QRIS_MIN: is above TOPUP_QRIS_MAX"
    ])
    expect(unfit).toEqual([
      "tollgate: PAYMENTS_SIMULATOR: simulated payments are not allowed in production; unset it",
      "tollgate: MIDTRANS_BASE_URL: sandbox payments are not allowed in production"
    ])
    expect([...half, ...unfit].join()).not.toContain("hunter2")
  })

  it("when its database is outdated or unreachable", async () => {
    const [old, away, none] = await Promise.all([
      refusal({ ...production, DATABASE_URL: empty.url }),
      refusal({ DATABASE_URL: "postgres://operator:hunter2@127.0.0.1:1/tollgate" }),
      refusal({ DATABASE_URL: "postgres://operator:hunter2@host:port/tollgate" })
    ])
    expect(old).toEqual([
      expect.stringMatching(/^tollgate: the database lacks the migrations 0001_\w+.*; run: tollgate migrate$/)
    ])
    expect(away).toEqual(["tollgate: the database cannot be used: connect ECONNREFUSED 127.0.0.1:1"])
    expect(none).toEqual([expect.stringMatching(/^tollgate: DATABASE_URL: /)])
    expect([...away, ...none].join()).not.toContain("hunter2")
  })

  it("when its port is taken or its catalog is invalid", async () => {
    const other = createServer()
    await new Promise<void>((listening) => other.listen(0, "127.0.0.1", listening))
    const address = other.address()
    const port = String(typeof address === "object" ? address?.port : address)
    const shared = { DATABASE_URL: migrated.url, KEY_PEPPER: TEST_PEPPER, JWT_SECRET: STRONG }
    const [taken, missing, torn, foreign] = await Promise.all([
      refusal({ ...shared, PORT: port }),
      refusal({ ...shared, CATALOG_FILE: join(directory, "nowhere.json") }),
      refusal({ ...shared, CATALOG_FILE: file("torn.json", '{\n  "providers": [\n') }),
      refusal({ ...shared, CATALOG_FILE: file("foreign.json", '{"models":[{"name":"x"}],"version":3}') })
    ])
    other.close()
    expect(taken).toEqual([
      expect.stringMatching(new RegExp(`^tollgate: cannot listen on 127.0.0.1:${port} .*set HOST or PORT$`))
    ])
    expect(missing).toEqual([expect.stringMatching(/^tollgate: CATALOG_FILE .*nowhere\.json: ENOENT/)])
    expect(torn).toEqual([
      expect.stringMatching(/^tollgate: CATALOG_FILE .*torn\.json:3:1: the document is incomplete$/)
    ])
    expect(foreign).toEqual([expect.stringMatching(/^tollgate: CATALOG_FILE .*foreign\.json: providers: .*models\.0/)])
  })
})

describe("npm start", () => {
  const home = join(directory, "home")
  const settings = {
    NODE_ENV: "development",
    DATA_DIR: home,
    SIMULATOR_PORT: "0",
    PAYMENTS_SIMULATOR: "",
    PAYMENTS_SIM_PORT: "0"
  }

  /** Returns the commands of the banner that begin with this name. The lines of one command are joined. */
  const commandsIn = (banner: string, name: string): ReadonlyArray<string> =>
    banner
      .replaceAll("\\\n", "")
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line.startsWith(`${name} `))

  const start = async (): Promise<{
    readonly server: ServerProcess
    readonly banner: string
    readonly key: string
  }> => {
    const server = await ServerProcess.start(settings)
    await server.printed(/Ctrl-C/)
    return { server, banner: server.stdout, key: /^ +key +(\S+)$/m.exec(server.stdout)?.[1] ?? "" }
  }

  const balanceOf = async ({ url }: ServerProcess, token: string): Promise<unknown> =>
    (await fetch(`${url}/api/reseller/balance`, { headers: { authorization: `Bearer ${token}` } })).json()

  const TEN_USD_PICO = 10_000_000_000_000n

  interface Usage {
    readonly prompt_tokens: number
    readonly completion_tokens: number
    readonly prompt_tokens_details?: { readonly cached_tokens?: number }
  }

  /** Returns the cost in pico-USD at the prices of the demo model `demo-chat`. */
  const costOf = ({ prompt_tokens, completion_tokens, prompt_tokens_details }: Usage): bigint => {
    const cached = prompt_tokens_details?.cached_tokens ?? 0
    return BigInt(prompt_tokens - cached) * 250_000n + BigInt(cached) * 25_000n + BigInt(completion_tokens) * 2_000_000n
  }

  interface ImageUsage {
    readonly input_tokens: number
    readonly output_tokens: number
  }

  /** Returns the cost in pico-USD at the prices of the demo model `demo-image`. */
  const costOfImage = ({ input_tokens, output_tokens }: ImageUsage): bigint =>
    BigInt(input_tokens) * 2_000_000n + BigInt(output_tokens) * 8_000_000n

  // The test is skipped on a machine without curl.
  const hasCurl = (() => {
    try {
      execFileSync("bash", ["-c", "command -v curl"], { stdio: "ignore" })
      return true
    } catch {
      return false
    }
  })()

  it.skipIf(!hasCurl)("prints commands that work", async () => {
    const first = await start()
    const [streamed = "", whole = "", models = "", image = "", login = ""] = await Promise.all(
      commandsIn(first.banner, "curl").map(async (line) => (await run("bash", ["-c", line])).stdout)
    )
    const frames = streamed.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []))
    expect(frames.at(-1)).toBe("[DONE]")
    const { usage: ofStream } = JSON.parse(frames.at(-2) ?? "") as { usage: Usage }
    const { usage: ofWhole } = JSON.parse(whole) as { usage: Usage }
    expect(JSON.parse(models).data.map(({ id }: { id: string }) => id)).toContain("demo-chat")
    const { data, usage: ofImage } = JSON.parse(image) as { data: [{ b64_json: string }]; usage: ImageUsage }
    const picture = PNG.sync.read(Buffer.from(data[0].b64_json, "base64"))
    expect(picture.height).toBeGreaterThan(picture.width)
    const docs = await fetch(/docs +(\S+)/.exec(first.banner)?.[1] ?? "")
    expect(docs.headers.get("content-type")).toMatch(/^text\/html/)
    const reseller = await balanceOf(first.server, JSON.parse(login).token)
    expect(reseller).toEqual({ balance_usd_micro: "100000000" })
    const payments = await fetch(/payments +(\S+)/.exec(first.banner)?.[1] ?? "")
    expect(await payments.text()).toContain("Payment simulator")
    expect(await first.server.stop()).toEqual({ code: 0, signal: null })

    const second = await start()
    expect(second.key).toBe(first.key)
    const told = commandsIn(second.banner, "npm").map((line) => line.split(" -- ")[1]?.split(" ") ?? [])
    const [shown, audited] = await Promise.all(
      told.map((args) => Effect.runPromise(CommandLine.start({ DATA_DIR: home }, ...args, "--json").printed))
    )
    expect([shown?.code, audited?.code], `${shown?.stderr}${audited?.stderr}`).toEqual([0, 0])
    const { payg } = JSON.parse(shown?.stdout ?? "") as { payg: { balance: string } }
    const left = TEN_USD_PICO - costOf(ofStream) - costOf(ofWhole) - costOfImage(ofImage)
    expect(payg.balance).toBe(floorToUsd(UsdPico(left)))
    expect(await second.server.stop()).toEqual({ code: 0, signal: null })
  })
})

describe("two servers", () => {
  it("started in parallel on an empty database create one set of demo data", async () => {
    const settings = {
      NODE_ENV: "development",
      DATABASE_URL: empty.url,
      DATA_DIR: join(directory, "shared"),
      DEMO: "on",
      SIMULATOR_PORT: String(await freePort()),
      PAYMENTS_SIMULATOR: "",
      PAYMENTS_SIM_PORT: String(await freePort())
    }
    const servers = await Promise.all([ServerProcess.start(settings), ServerProcess.start(settings)])
    for (const server of servers) {
      await server.printed(/Ctrl-C/)
      const key = /^ +key +(\S+)$/m.exec(server.stdout)?.[1] ?? ""
      for (const { url } of servers) {
        const models = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
        expect(models.status).toBe(200)
        const [, email, password] = /^ +reseller +(\S+), password (\S+)$/m.exec(server.stdout) ?? []
        const login = await fetch(`${url}/api/reseller/auth/login`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ email, password })
        })
        expect(login.status).toBe(200)
      }
    }
    const client = new Pg.Client(empty.settings)
    await client.connect()
    const { rows } = await client.query(`SELECT (SELECT count(*) FROM app_user)::int AS users,
      (SELECT count(*) FROM transfer)::int AS credits, (SELECT count(*) FROM model)::int AS models,
      (SELECT count(*) FROM reseller)::int AS resellers,
      (SELECT count(*) FROM gateway_node WHERE left_at IS NULL)::int AS nodes`)
    await client.end()
    expect(rows).toEqual([{ users: 1, credits: 2, models: 5, resellers: 1, nodes: 2 }])
    for (const server of servers) expect(await server.stop()).toEqual({ code: 0, signal: null })

    // A server with a real payment provider warns of the demo reseller that an earlier start created.
    const midtrans = { MIDTRANS_SERVER_KEY: "sandbox", MIDTRANS_BASE_URL: "http://127.0.0.1:9" }
    const server = await ServerProcess.start({ ...settings, ...midtrans })
    await server.printed(/Ctrl-C/)
    expect(server.stdout).toContain("none, because the payment providers are real")
    expect(server.stdout).not.toContain("password")
    expect(server.stderr).toContain("tollgate resellers suspend reseller@tollgate.example")
    expect(await server.stop()).toEqual({ code: 0, signal: null })
  })
})

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0))
    })
  })

describe("the operations page", () => {
  it("lists the existing settings with their descriptions and defaults", () => {
    const page = readFileSync(resolve(import.meta.dirname, "../../docs/operations.md"), "utf8")
    const rows = [...page.matchAll(/^\| `([A-Z0-9_]+)` \|(.*?)\| (.*) \|$/gm)]
    const listed = rows.map(([, name, , words]) => ({ name, words }))
    const { ast } = Environment
    const variables = SchemaAST.isTransformation(ast) ? SchemaAST.getPropertySignatures(ast.from) : []
    const known = variables.map(({ name, type }) => ({
      name,
      words: Option.getOrElse(SchemaAST.getDescriptionAnnotation(type), () => "")
    }))
    expect(listed).toEqual(known)

    const defaults: Record<string, unknown> = Schema.decodeUnknownSync(Environment)({})
    const toldDefaults = rows.flatMap(([, name = "", cell = ""]) => {
      const told = /^ `(.*)` $/.exec(cell)?.[1]
      return told === undefined ? [] : [[name, told]]
    })
    expect(Object.fromEntries(toldDefaults)).toEqual(
      Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, String(value)]))
    )
  })
})
