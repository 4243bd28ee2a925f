/**
 * Starts a server with a built console, simulated payments and a simulated provider, and runs commands of the operator.
 */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { copyFile, mkdir, mkdtemp, rename, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { promisify } from "node:util"
import { Effect, Exit, Scope } from "effect"
import pg from "pg"
import { inject } from "vitest"
import { bundled, CLI } from "../Bundle.ts"
import { ServerProcess } from "../ServerProcess.ts"
import * as TestDatabase from "../TestDatabase.ts"

const CONSOLE = resolve(import.meta.dirname, "../../../apps/console")
const POLL_MILLIS = 50

/**
 * Builds the console from its sources, once for a run, to a folder where only the bundled servers of the run look for
 * the package. The folder gets its name when the build is complete, so no server reads an incomplete build.
 */
const buildConsole = async (): Promise<void> => {
  const installed = join(inject("bundles"), "node_modules/@tollgate/console")
  await mkdir(dirname(installed), { recursive: true })
  const isFirst = await mkdir(`${installed}.lock`).then(
    () => true,
    () => false
  )
  if (isFirst) {
    const { build } = await import("vite")
    const unfinished = `${installed}.unfinished`
    await build({
      configFile: join(CONSOLE, "vite.config.ts"),
      logLevel: "error",
      build: { outDir: join(unfinished, "dist/site") }
    })
    await copyFile(join(CONSOLE, "package.json"), join(unfinished, "package.json"))
    await rename(unfinished, installed)
  }
  while (!existsSync(installed)) await new Promise((resolve) => setTimeout(resolve, POLL_MILLIS))
}

export type Body = Readonly<Record<string, unknown>>

export class ConsoleServer {
  readonly url: string
  readonly payments: string
  readonly demoKey: string
  readonly #server: ServerProcess
  readonly #environment: Readonly<Record<string, string | undefined>>
  readonly #close: () => Promise<void>

  private constructor(
    server: ServerProcess,
    environment: Readonly<Record<string, string | undefined>>,
    close: () => Promise<void>
  ) {
    this.#server = server
    this.#environment = environment
    this.#close = close
    this.url = server.url
    this.payments = /payments +(\S+)/.exec(server.stdout)?.[1] ?? ""
    this.demoKey = /key +(\S+)/.exec(server.stdout)?.[1] ?? ""
  }

  static async start(settings: Readonly<Record<string, string>> = {}): Promise<ConsoleServer> {
    await buildConsole()
    const scope = Effect.runSync(Scope.make())
    const directory = await mkdtemp(join(tmpdir(), "tollgate-console-"))
    const database = await Effect.runPromise(Scope.extend(TestDatabase.make(), scope))
    const shared = { DATABASE_URL: database.url, DATA_DIR: join(directory, "data") }
    const server = await ServerProcess.start({
      ...shared,
      NODE_ENV: "development",
      DEMO: "on",
      SIMULATOR_PORT: "0",
      PAYMENTS_SIMULATOR: "",
      PAYMENTS_SIM_PORT: "0",
      ...settings
    })
    await server.printed(/Ctrl-C/)
    return new ConsoleServer(server, { ...shared, PATH: process.env.PATH }, async () => {
      await server.stop()
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await rm(directory, { recursive: true, force: true })
    })
  }

  /** Runs a command of the operator, such as `resellers approve X`. */
  async operator(...command: ReadonlyArray<string>): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, [await bundled(CLI), ...command], {
      env: this.#environment
    })
    return stdout
  }

  /** Sends no token if `bearer` is empty. */
  async send(method: string, path: string, bearer: string, body?: object): Promise<Body> {
    const response = await fetch(this.url + path, {
      method,
      headers: {
        "content-type": "application/json",
        ...(bearer === "" ? {} : { authorization: `Bearer ${bearer}` })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${text}`)
    return JSON.parse(text) as Body
  }

  async operatorToken(name: string): Promise<string> {
    const [code = ""] = /tgc_[\w-]+/.exec(await this.operator("console", "--name", name)) ?? []
    return String((await this.send("POST", "/api/operator/session", "", { code })).token)
  }

  /** Acts as the payer of an order: `pay`, `underpay`, `expire` and so on. */
  async payer(action: string, orderNumber: string): Promise<void> {
    const response = await fetch(`${this.payments}/${action}/${orderNumber}`, { method: "POST" })
    if (!response.ok) throw new Error(`${action} was refused: ${await response.text()}`)
  }

  async sql(statements: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.#environment.DATABASE_URL })
    await client.connect()
    try {
      await client.query(statements)
    } finally {
      await client.end()
    }
  }

  get log(): string {
    return this.#server.stderr
  }

  close(): Promise<void> {
    return this.#close()
  }
}
