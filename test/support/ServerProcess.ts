/**
 * Runs the real server in its own process, for tests that kill it, stop it or read its output.
 *
 *     const server = await ServerProcess.start({ DATABASE_URL: database.url })
 *     ... fetch(server.url + "/readyz") ...
 *     expect(await server.stop()).toEqual({ code: 0, signal: null })
 *
 * The process runs `apps/server/src/main.ts`, which is bundled once and then shared by the test files.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { bundled, type Program } from "./Bundle.ts"
import { cleanUpAfterFile } from "./Leftovers.ts"
import { PROVIDER_KEY, TEST_JWT_SECRET, TEST_PEPPER, type TestGateway } from "./TestGateway.ts"

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export type Settings = Readonly<Record<string, string>>

export class ServerProcess {
  readonly #child: ChildProcess
  readonly #stdout: Array<Buffer> = []
  readonly #stderr: Array<Buffer> = []
  #url = ""
  /** Resolves when the process has ended and its output is complete. */
  readonly exited: Promise<Exit>

  /** The server uses free ports and inherits only PATH, unless `settings` override this. */
  static async start(settings: Settings = {}): Promise<ServerProcess> {
    const server = await ServerProcess.launch(settings)
    await server.serving()
    return server
  }

  /** The server has the database of a gateway, and with it the catalog, the API keys and the upstream. */
  static beside(gateway: TestGateway, settings: Settings = {}): Promise<ServerProcess> {
    const shared = {
      DATABASE_URL: gateway.database.url,
      KEY_PEPPER: TEST_PEPPER,
      JWT_SECRET: TEST_JWT_SECRET,
      PROVIDER_KEY
    }
    return ServerProcess.start({ ...shared, ...settings })
  }

  /** Does not wait for the process, because a test may expect that it exits at start. */
  static async launch(settings: Settings = {}, contents: Contents = "everything"): Promise<ServerProcess> {
    const program = await bundled(programOf(contents))
    const defaults = {
      PATH: process.env.PATH,
      NODE_ENV: "test",
      PORT: "0",
      METRICS_PORT: "0",
      PAYMENTS_SIMULATOR: "off"
    }
    const child = spawn(process.execPath, [program], {
      env: { ...defaults, ...settings },
      stdio: ["ignore", "pipe", "pipe"]
    })
    return new ServerProcess(child)
  }

  private constructor(child: ChildProcess) {
    this.#child = child
    child.stdout?.on("data", (chunk: Buffer) => this.#stdout.push(chunk))
    child.stderr?.on("data", (chunk: Buffer) => this.#stderr.push(chunk))
    this.exited = new Promise((resolve, reject) => {
      child.once("error", reject)
      child.once("close", (code, signal) => {
        resolve({ code, signal })
      })
    })
    cleanUpAfterFile(() => this.kill())
  }

  get pid(): number {
    return this.#child.pid ?? -1
  }

  get url(): string {
    return this.#url
  }

  get stdout(): string {
    return Buffer.concat(this.#stdout).toString("utf8")
  }

  get stderr(): string {
    return Buffer.concat(this.#stderr).toString("utf8")
  }

  get ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  async serving(): Promise<void> {
    this.#url = await this.#found(() => /serving on (http:\/\/[^\s"]+)/.exec(this.stderr)?.[1])
  }

  async printed(words: RegExp): Promise<void> {
    await this.#found(() => words.exec(this.stdout)?.[0])
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  kill(): Promise<Exit> {
    this.signal("SIGKILL")
    return this.exited
  }

  stop(): Promise<Exit> {
    this.signal("SIGTERM")
    return this.exited
  }

  async #found(find: () => string | undefined): Promise<string> {
    for (;;) {
      const found = find()
      if (found !== undefined) return found
      if (this.ended) throw new Error(`the server exited before it wrote the expected output:\n${this.stderr}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}

/** The packages that are installed. In `production`, the packages that only development uses are missing. */
export type Contents = "everything" | "production"

const programOf = (contents: Contents): Program =>
  contents === "everything"
    ? { name: "server", entry: "apps/server/src/main.ts" }
    : {
        name: "server-production",
        entry: "apps/server/src/main.ts",
        // These names do not exist, so their import fails at run time, like the import of a package that is not
        // installed.
        alias: { "@tollgate/simulators": "@absent/simulators", "@tollgate/embedded-postgres": "@absent/postgres" }
      }
