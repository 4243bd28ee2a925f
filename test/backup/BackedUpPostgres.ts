/** Runs Debian's Postgres, and archives, backs up and restores it with pgBackRest and the files of `deploy/backup`. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import * as Pg from "pg"
import { freePort } from "../bench/Target.ts"
import { THIS_CHECKOUT } from "../bench/Tollgate.ts"
import { eventually } from "../failover/ActiveTime.ts"
import {
  filled,
  ownDirectory,
  owner,
  ownFile,
  type Processes,
  postgresBinDir,
  programAt
} from "../failover/Processes.ts"

const DEPLOY = join(THIS_CHECKOUT, "deploy/backup")
const START_MILLIS = 600_000
const COMMAND_TIMEOUT_MILLIS = 300_000

export class BackedUpPostgres {
  readonly #processes: Processes
  readonly #directory: string
  readonly #port: number
  readonly #config: string

  private constructor(processes: Processes, directory: string, port: number, config: string) {
    this.#processes = processes
    this.#directory = directory
    this.#port = port
    this.#config = config
  }

  /** Creates an empty Postgres and an empty backup repository, starts the Postgres, and makes a full backup. */
  static async start(processes: Processes, directory: string): Promise<BackedUpPostgres> {
    programAt("/usr/bin/pgbackrest")
    const port = await freePort()
    const text = filled(readFileSync(join(DEPLOY, "pgbackrest.conf"), "utf8"), {
      REPO_DIR: ownDirectory(join(directory, "repository")),
      RUN_DIR: directory,
      SOCKET_DIR: directory,
      DATA_DIR: join(directory, "data"),
      POSTGRES_PORT: port
    })
    const config = ownFile(join(directory, "pgbackrest.conf"), text)
    const postgres = new BackedUpPostgres(processes, directory, port, config)
    const auth = ["--auth-local=trust", "--auth-host=trust", "--username=postgres"]
    await postgres.#run(join(postgresBinDir(), "initdb"), ["-D", join(directory, "data"), "--data-checksums", ...auth])
    await postgres.launch()
    await postgres.#run("pgbackrest", [`--config=${config}`, "--stanza=tollgate", "stanza-create"])
    await postgres.#run(join(DEPLOY, "backup.sh"), ["full", config])
    return postgres
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.#port}/postgres`
  }

  /** Starts Postgres, and waits until it accepts writes. */
  async launch(): Promise<void> {
    const archive = `pgbackrest --config=${this.#config} --stanza=tollgate archive-push %p`
    const settings = {
      port: this.#port,
      listen_addresses: "127.0.0.1",
      unix_socket_directories: this.#directory,
      archive_mode: "on",
      archive_command: archive
    }
    const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
    this.#processes.start("postgres", join(postgresBinDir(), "postgres"), [
      "-D",
      join(this.#directory, "data"),
      ...options
    ])
    await eventually("Postgres", START_MILLIS, async () => {
      const [row] = await this.query<{ standby: boolean }>("SELECT pg_is_in_recovery() AS standby")
      return row?.standby === false
    })
  }

  /** Ends the current segment of the write-ahead log and stops Postgres, which archives this segment while it stops. */
  async stop(): Promise<void> {
    await this.query("SELECT pg_switch_wal()")
    await this.#processes.end("postgres", "SIGINT")
  }

  /** Restores the stopped Postgres to a point in time, and starts it. */
  async restore(time: Date): Promise<void> {
    await this.#run(join(DEPLOY, "restore.sh"), [
      time.toISOString().replace("T", " ").replace("Z", "+00"),
      this.#config
    ])
    await this.launch()
  }

  async query<Row extends object>(text: string): Promise<ReadonlyArray<Row>> {
    const client = new Pg.Client({ connectionString: this.url })
    client.on("error", () => {})
    await client.connect()
    try {
      return (await client.query<Row & Pg.QueryResultRow>(text)).rows
    } finally {
      await client.end()
    }
  }

  async #run(command: string, args: ReadonlyArray<string>): Promise<void> {
    // pgBackRest reads settings from its environment, so it must get no other variable of this process.
    await promisify(execFile)(command, [...args], {
      ...owner,
      cwd: this.#directory,
      env: { PATH: process.env.PATH, LC_ALL: "C.UTF-8" },
      timeout: COMMAND_TIMEOUT_MILLIS
    })
  }
}
