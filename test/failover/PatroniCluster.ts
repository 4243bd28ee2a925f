/**
 * Runs three Postgres nodes and one HAProxy with the configuration files of `deploy/postgres`. A node consists of a
 * Postgres, a Patroni and a member of etcd.
 */
import { readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as Pg from "pg"
import { freePort } from "../bench/Target.ts"
import { THIS_CHECKOUT } from "../bench/Tollgate.ts"
import { eventually } from "./ActiveTime.ts"
import { filled, ownDirectory, ownFile, type Processes, postgresBinDir, programAt } from "./Processes.ts"

const DEPLOY = join(THIS_CHECKOUT, "deploy/postgres")
const HOST = "127.0.0.1"
const PASSWORD = "only-for-the-trial"
const START_MILLIS = 600_000
/** A failover takes up to ttl + loop_wait = 25 s. A node that rejoins may need pg_rewind and a checkpoint too. */
const FAILOVER_MILLIS = 600_000

interface Node {
  readonly name: string
  readonly directory: string
  readonly postgresPort: number
  readonly patroniPort: number
  readonly etcdPort: number
  readonly etcdPeerPort: number
}

interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
}

export class PatroniCluster {
  readonly #processes: Processes
  readonly #directory: string
  readonly #nodes: ReadonlyArray<Node>
  readonly #haproxyPort: number

  private constructor(processes: Processes, directory: string, nodes: ReadonlyArray<Node>, haproxyPort: number) {
    this.#processes = processes
    this.#directory = directory
    this.#nodes = nodes
    this.#haproxyPort = haproxyPort
  }

  static async make(processes: Processes, directory: string): Promise<PatroniCluster> {
    const nodes: Array<Node> = []
    for (const nth of [1, 2, 3]) {
      const name = `node${nth}`
      nodes.push({
        name,
        directory: ownDirectory(join(directory, name)),
        postgresPort: await freePort(),
        patroniPort: await freePort(),
        etcdPort: await freePort(),
        etcdPeerPort: await freePort()
      })
    }
    const cluster = new PatroniCluster(processes, directory, nodes, await freePort())
    return cluster
  }

  async start(): Promise<void> {
    this.restart()
    this.#startHaproxy()
    await this.untilComplete()
    await this.#createDatabase()
  }

  /** The URL of the primary, through HAProxy. */
  get url(): string {
    return `postgres://tollgate:${PASSWORD}@${HOST}:${this.#haproxyPort}/tollgate`
  }

  /** Starts a PgBouncer in front of HAProxy. */
  async startPgBouncer(): Promise<string> {
    const port = await freePort()
    const users = ownFile(join(this.#directory, "pgbouncer-users"), `"tollgate" "${PASSWORD}"\n`)
    const template = readFileSync(join(DEPLOY, "pgbouncer.ini"), "utf8")
    const text = filled(template, {
      HAPROXY_HOST: HOST,
      HAPROXY_PORT: this.#haproxyPort,
      PGBOUNCER_HOST: HOST,
      PGBOUNCER_PORT: port,
      PGBOUNCER_USERS: users
    })
    const file = ownFile(join(this.#directory, "pgbouncer.ini"), text)
    this.#processes.start("pgbouncer", programAt("/usr/sbin/pgbouncer"), [file])
    return `postgres://tollgate:${PASSWORD}@${HOST}:${port}/tollgate`
  }

  /** Kills Postgres and Patroni of the primary with SIGKILL. Returns the name of the node. */
  async killPrimary(): Promise<string> {
    const { name } = await this.#primary()
    if ((await this.kill(name)) === 0) throw new Error(`Postgres of ${name} did not run, so it was not killed`)
    return name
  }

  /** Kills two nodes with their members of etcd, so that neither etcd nor the synchronous replication has a quorum. */
  async killMajority(): Promise<ReadonlyArray<string>> {
    const primary = await this.#primary()
    const others = this.#nodes.filter(({ name }) => name !== primary.name).map(({ name }) => name)
    for (const name of others) {
      await this.kill(name)
      await this.#processes.end(`etcd-${name}`, "SIGKILL")
    }
    return others
  }

  /** Kills Postgres and Patroni of both standbys. The primary still runs, but no standby can store its commits. */
  async killStandbys(): Promise<ReadonlyArray<string>> {
    const primary = await this.#primary()
    const others = this.#nodes.filter(({ name }) => name !== primary.name).map(({ name }) => name)
    for (const name of others) await this.kill(name)
    return others
  }

  /** Kills Patroni and Postgres of a node. Returns the number of killed processes of Postgres. */
  async kill(name: string): Promise<number> {
    // Patroni dies first, because it would start Postgres again.
    await this.#processes.end(`patroni-${name}`, "SIGKILL")
    const data = join(realpathSync(this.#named(name).directory), "data")
    const found = processesIn(data).length
    await eventually("the end of Postgres", START_MILLIS, async () => {
      const running = processesIn(data)
      for (const pid of running) process.kill(pid, "SIGKILL")
      return running.length === 0
    })
    return found
  }

  async stop(): Promise<void> {
    for (const { name } of this.#nodes) await this.kill(name)
  }

  /** Starts the programs of all nodes that do not run. */
  restart(): void {
    for (const node of this.#nodes) {
      if (!this.#processes.isRunning(`etcd-${node.name}`)) this.#startEtcd(node)
      if (!this.#processes.isRunning(`patroni-${node.name}`)) this.#startPatroni(node)
    }
  }

  /** Waits until a node other than `except` is the running primary. */
  async untilNewPrimary(except: string): Promise<void> {
    await eventually("the new primary", FAILOVER_MILLIS, async () => {
      const members = await this.#members()
      return members.some(({ name, role, state }) => role === "leader" && state === "running" && name !== except)
    })
  }

  /** Waits until all three nodes run, with one primary and one synchronous standby. */
  async untilComplete(): Promise<void> {
    await eventually("three running nodes", START_MILLIS, async () => {
      const members = await this.#members()
      const running = members.filter(({ state }) => state === "running" || state === "streaming")
      const count = (role: string) => running.filter((member) => member.role === role).length
      return running.length === 3 && count("leader") === 1 && count("sync_standby") === 1
    })
  }

  async described(): Promise<string> {
    const members = await this.#members().catch(() => [])
    return members.map(({ name, role, state }) => `${name}: ${role}, ${state}`).join("; ")
  }

  async #primary(): Promise<Node> {
    let leader: Member | undefined
    await eventually("a primary", FAILOVER_MILLIS, async () => {
      leader = (await this.#members()).find(({ role }) => role === "leader")
      return leader !== undefined
    })
    return this.#named(leader?.name ?? "")
  }

  #named(name: string): Node {
    const node = this.#nodes.find((node) => node.name === name)
    if (node === undefined) throw new Error(`there is no node ${name}`)
    return node
  }

  async #members(): Promise<ReadonlyArray<Member>> {
    for (const { name, patroniPort } of this.#nodes) {
      if (!this.#processes.isRunning(`patroni-${name}`)) continue
      try {
        const response = await fetch(`http://${HOST}:${patroniPort}/cluster`, { signal: AbortSignal.timeout(2_000) })
        return ((await response.json()) as { readonly members: ReadonlyArray<Member> }).members
      } catch {
        await sleep(50)
      }
    }
    throw new Error("no Patroni responds")
  }

  #startEtcd({ directory, etcdPeerPort, etcdPort, name }: Node): void {
    const members = this.#nodes.map((node) => `${node.name}=http://${HOST}:${node.etcdPeerPort}`).join(",")
    const options = {
      name,
      "data-dir": join(ownDirectory(directory), "etcd"),
      "listen-client-urls": `http://${HOST}:${etcdPort}`,
      "advertise-client-urls": `http://${HOST}:${etcdPort}`,
      "listen-peer-urls": `http://${HOST}:${etcdPeerPort}`,
      "initial-advertise-peer-urls": `http://${HOST}:${etcdPeerPort}`,
      "initial-cluster": members,
      // Three nodes on one machine respond more slowly than three machines, so elections start later than by default.
      "heartbeat-interval": "300",
      "election-timeout": "3000",
      "log-level": "error"
    }
    const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`)
    this.#processes.start(`etcd-${name}`, programAt("/usr/bin/etcd"), args)
  }

  #startPatroni({ directory, name, patroniPort, postgresPort }: Node): void {
    const text = filled(readFileSync(join(DEPLOY, "patroni.yml"), "utf8"), {
      NODE_NAME: name,
      NODE_HOST: HOST,
      PATRONI_PORT: patroniPort,
      POSTGRES_PORT: postgresPort,
      ETCD_HOSTS: this.#nodes.map(({ etcdPort }) => `${HOST}:${etcdPort}`).join(","),
      DATA_DIR: join(directory, "data"),
      RUN_DIR: directory,
      POSTGRES_BIN_DIR: postgresBinDir(),
      NODES_NETWORK: `${HOST}/32`,
      CLIENTS_NETWORK: `${HOST}/32`,
      SUPERUSER_PASSWORD: PASSWORD,
      REPLICATION_PASSWORD: PASSWORD,
      REWIND_PASSWORD: PASSWORD
    })
    const file = ownFile(join(directory, "patroni.yml"), text)
    // Patroni exits if etcd has no quorum at its start. Debian's systemd unit starts Patroni again.
    this.#processes.keepRunning(`patroni-${name}`, programAt("/usr/bin/patroni"), [file])
  }

  #startHaproxy(): void {
    const values: Record<string, string | number> = { HAPROXY_BIND: `${HOST}:${this.#haproxyPort}` }
    for (const [i, { patroniPort, postgresPort }] of this.#nodes.entries()) {
      values[`NODE${i + 1}`] = `${HOST}:${postgresPort}`
      values[`PATRONI_PORT${i + 1}`] = patroniPort
    }
    const file = join(this.#directory, "haproxy.cfg")
    ownFile(file, filled(readFileSync(join(DEPLOY, "haproxy.cfg"), "utf8"), values))
    this.#processes.start("haproxy", programAt("/usr/sbin/haproxy"), ["-db", "-f", file])
  }

  async #createDatabase(): Promise<void> {
    const admin = { host: HOST, port: this.#haproxyPort, user: "postgres", password: PASSWORD, database: "postgres" }
    await eventually("the database of Tollgate", START_MILLIS, async () => {
      const client = new Pg.Client(admin)
      client.on("error", () => {})
      try {
        await client.connect()
        await client.query(`CREATE ROLE tollgate LOGIN PASSWORD '${PASSWORD}'`)
        await client.query("ALTER ROLE tollgate SET statement_timeout = '30s'")
        await client.query("ALTER ROLE tollgate SET idle_in_transaction_session_timeout = '5s'")
        await client.query("CREATE DATABASE tollgate OWNER tollgate")
        return true
      } finally {
        await client.end()
      }
    })
  }
}

/** Returns the ids of the processes with this working directory. For Postgres, this is the data directory. */
const processesIn = (directory: string): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && workingDirectoryOf(name) === directory)
    .map(Number)

const workingDirectoryOf = (pid: string): string => {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    // The process has ended.
    return ""
  }
}
