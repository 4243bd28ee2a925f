/**
 * Starts the programs of a trial, as an unprivileged user if this process runs as root, because Postgres refuses to run
 * as root. Each program writes its output to a log file. `endAll` kills all of them at the end of the trial.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { chownSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** The user that the Debian packages of Postgres create. */
const USER = "postgres"

const idOf = (flag: "-u" | "-g"): number => Number(execFileSync("id", [flag, USER], { encoding: "utf8" }))
const isRoot = process.getuid?.() === 0
export const owner = isRoot ? { uid: idOf("-u"), gid: idOf("-g") } : {}

export const ownDirectory = (path: string): string => {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  if (isRoot) chownSync(path, owner.uid ?? 0, owner.gid ?? 0)
  return path
}

export const ownFile = (path: string, text: string): string => {
  writeFileSync(path, text, { mode: 0o600 })
  if (isRoot) chownSync(path, owner.uid ?? 0, owner.gid ?? 0)
  return path
}

/** Replaces every `${NAME}` of a configuration file of `deploy`. */
export const filled = (template: string, values: Readonly<Record<string, string | number>>): string =>
  template.replace(/\$\{([A-Z0-9_]+)\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`the template has no value for ${name}`)
    return String(value)
  })

export const programAt = (...paths: ReadonlyArray<string>): string => {
  const found = paths.find((path) => existsSync(path))
  if (found === undefined)
    throw new Error(
      `none of these programs is installed: ${paths.join(", ")}; CONTRIBUTING.md names the Debian packages`
    )
  return found
}

/** Returns the folder with the programs of the newest Postgres that is installed from Debian. */
export const postgresBinDir = (): string => {
  const root = programAt("/usr/lib/postgresql")
  const [newest] = readdirSync(root).sort((a, b) => Number(b) - Number(a))
  return join(root, newest ?? "", "bin")
}

const RESTART_MILLIS = 1_000

export class Processes {
  readonly #logs: string
  readonly #running = new Map<string, ChildProcess>()
  readonly #restarts = new Map<string, NodeJS.Timeout>()

  constructor(logs: string) {
    this.#logs = ownDirectory(logs)
  }

  start(name: string, command: string, args: ReadonlyArray<string>): void {
    const child = this.#spawn(name, command, args)
    child.once("exit", () => this.#forget(name, child))
  }

  /** Starts a program again after each exit with another status than 0, but not after a signal. */
  keepRunning(name: string, command: string, args: ReadonlyArray<string>): void {
    const child = this.#spawn(name, command, args)
    child.once("exit", (status) => {
      this.#forget(name, child)
      if (status === null || status === 0) return
      this.#restarts.set(
        name,
        setTimeout(() => this.keepRunning(name, command, args), RESTART_MILLIS)
      )
    })
  }

  /** Returns true if the program runs or will be started again. */
  isRunning(name: string): boolean {
    return this.#running.has(name) || this.#restarts.has(name)
  }

  async end(name: string, signal: NodeJS.Signals): Promise<void> {
    clearTimeout(this.#restarts.get(name))
    this.#restarts.delete(name)
    const child = this.#running.get(name)
    if (child === undefined) return
    const ended = new Promise((resolve) => child.once("exit", resolve))
    child.kill(signal)
    await ended
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#restarts.keys(), ...this.#running.keys()].map((name) => this.end(name, "SIGKILL")))
  }

  log(name: string): string {
    return readFileSync(join(this.#logs, `${name}.log`), "utf8")
  }

  #spawn(name: string, command: string, args: ReadonlyArray<string>): ChildProcess {
    this.#restarts.delete(name)
    const log = openSync(join(this.#logs, `${name}.log`), "a")
    const child = spawn(command, [...args], {
      ...owner,
      cwd: this.#logs,
      env: { PATH: process.env.PATH, LC_ALL: "C.UTF-8" },
      stdio: ["ignore", log, log]
    })
    child.once("error", (error) => process.stderr.write(`${name}: ${error.message}\n`))
    this.#running.set(name, child)
    return child
  }

  #forget(name: string, child: ChildProcess): void {
    if (this.#running.get(name) === child) this.#running.delete(name)
  }
}
