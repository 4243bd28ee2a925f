/**
 * A node of the deployment: the production ledger, its background tasks and its open requests, over a modelled
 * database.
 */
import { type SqlClient as Sql, SqlClient } from "@effect/sql/SqlClient"
import { PgSettings } from "@tollgate/adapters-postgres/client/PgSettings"
import { LedgerDriver } from "@tollgate/adapters-postgres/ledger/LedgerDriver"
import * as PgInferenceLedger from "@tollgate/adapters-postgres/ledger/PgInferenceLedger"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import { type BackgroundPorts, backgroundTasks, runTasks } from "@tollgate/application/background/BackgroundTasks"
import type { Delivery } from "@tollgate/application/inference/Delivery"
import { IndexedSet } from "@tollgate/application/inference/IndexedSet"
import { OpenRequests } from "@tollgate/application/inference/OpenRequests"
import { InferenceLedger } from "@tollgate/application/ledger/InferenceLedger"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { type Heartbeat, type NodeId, Nodes } from "@tollgate/application/operations/Nodes"
import { Context, Duration, Effect, Exit, Fiber, Logger, Runtime, Scope } from "effect"
import { type Database, textOf } from "./database/Database.ts"
import { Network } from "./database/ModelClient.ts"
import { nodeRuntime, silentRuntime } from "./NodeRuntime.ts"
import type { Process, SimulatedTime } from "./SimulatedTime.ts"

export interface NodeOptions extends PgInferenceLedger.LedgerOptions {
  readonly deadAfterMillis: number
  readonly latencyMillis: number
}

type MadeFrom = PgSettings | Nodes | Sql | Scope.Scope

const noClient = { unsafe: () => Effect.dieMessage("the simulation lists no holds") } as unknown as Sql

const NO_LEDGER = {} as InferenceLedger["Type"]

/** The tasks of a node that concern the ledger. */
const LEDGER_TASKS = ["node heartbeat", "checkpoint of open requests", "sweep of dead nodes' holds"]
/** The timeout of a statement on a pooled connection while the network is frozen. */
const POOL_MILLIS = 5_000

export class SimulatedNode {
  readonly process: Process
  readonly network: Network
  readonly id: NodeId
  readonly ledger: InferenceLedger["Type"]
  readonly holds: OpenHolds["Type"]
  readonly open = new IndexedSet<Delivery>()
  isServing = true
  readonly #database: Database
  readonly #time: SimulatedTime
  readonly #scope: Scope.CloseableScope
  readonly #runtime: Runtime.Runtime<MadeFrom>
  #tasks: Fiber.RuntimeFiber<void> | undefined

  /** Must be called in an event of the process. */
  constructor(
    database: Database,
    process: Process,
    options: NodeOptions,
    role: "server" | "operator",
    onLog: (line: string) => void
  ) {
    this.#database = database
    this.#time = database.time
    this.process = process
    this.id = process.name as NodeId
    this.network = new Network(database, process, options.latencyMillis)
    const logger = Logger.make<unknown, void>(({ cause, message }) =>
      onLog(cause._tag === "Empty" ? `${message}` : `${message} ${cause}`)
    )
    this.#scope = Runtime.runSync(silentRuntime)(Scope.make())
    const ports = Context.empty().pipe(
      Context.add(PgSettings, {}),
      Context.add(Nodes, this.#nodes),
      Context.add(SqlClient, noClient),
      Context.add(Scope.Scope, this.#scope)
    )
    this.#runtime = nodeRuntime(ports, logger)
    this.ledger = role === "operator" ? NO_LEDGER : this.#built(PgInferenceLedger.make(options), "ledger")
    this.holds = this.#built(PgOpenHolds.make({ nodeDeadAfterSeconds: options.deadAfterMillis / 1_000 }), "sweep")
  }

  #built<A>(made: Effect.Effect<A, never, MadeFrom>, purpose: string): A {
    const runtime = Runtime.updateContext(this.#runtime, Context.add(LedgerDriver, this.network.driver(purpose)))
    return Runtime.runSync(runtime)(made)
  }

  /** The heartbeat of the node is one statement on a pooled connection. */
  get #nodes(): Nodes["Type"] {
    return { self: this.id, beat: this.#beat, leave: this.#leave }
  }

  readonly #beat = Effect.suspend(() =>
    this.#pooled((): ReadonlyArray<Heartbeat> => {
      this.#storeBeat()
      const { nodes, requests } = this.#database
      const others = new Set([...requests.rows()].map(({ nodeId }) => nodeId as NodeId))
      return [...others]
        .filter((node) => node !== this.id && nodes.get(node)?.left !== true)
        .map((node) => ({ node, beatAt: textOf(nodes.get(node)) }))
    })
  )

  #storeBeat(): void {
    const { clockMillis, nodes, time } = this.#database
    const left = nodes.get(this.id)?.left ?? false
    nodes.set(this.id, { beatAt: clockMillis, storedAtMillis: time.now, left })
  }

  readonly #leave = Effect.suspend(() =>
    this.#pooled(() => {
      const node = this.#database.nodes.get(this.id)
      if (node !== undefined) node.left = true
    })
  )

  /** Runs a statement on a pooled connection. If the connection fails, the statement may have been committed. */
  #pooled<A>(statement: () => A): Effect.Effect<A> {
    return Effect.async<A>((resume) => {
      const sentAt = this.#time.now
      const end = (result: Effect.Effect<A>) =>
        void this.#time.after(this.network.delayMillis, this.process, () => resume(result))
      const arrive = () => {
        const { frozenUntil } = this.network
        if (frozenUntil > this.#time.now) {
          if (frozenUntil - sentAt > POOL_MILLIS) end(Effect.dieMessage("the statement has timed out"))
          else this.#time.after(frozenUntil - this.#time.now, undefined, arrive)
        } else if (this.#database.isDown) end(Effect.dieMessage("the database is down"))
        else {
          const result = statement()
          end(this.#time.random.chance(0.02) ? Effect.dieMessage("the connection was lost") : Effect.succeed(result))
        }
      }
      this.#time.after(this.network.delayMillis, undefined, arrive)
    })
  }

  /** Registers the node and starts its tasks. Must be called in an event of the process. */
  start(deadAfterMillis: number): void {
    this.#storeBeat()
    const runtime = Runtime.updateContext(
      this.#runtime,
      (ports) =>
        ports.pipe(
          Context.add(InferenceLedger, this.ledger),
          Context.add(OpenHolds, this.holds),
          Context.add(OpenRequests, this.open)
        ) as unknown as Context.Context<BackgroundPorts>
    )
    const tasks = Effect.flatMap(backgroundTasks(Duration.millis(deadAfterMillis)), (all) =>
      runTasks(all.filter(({ name }) => LEDGER_TASKS.includes(name)))
    )
    this.#tasks = Runtime.runFork(runtime)(tasks)
  }

  /** Runs one sweep. Must be called in an event of the process. */
  sweep(onSwept: () => void): void {
    Runtime.runFork(this.#runtime)(Effect.zipRight(Effect.exit(this.holds.sweep), Effect.sync(onSwept)))
  }

  /** Ends the process immediately. All state in its memory is lost. */
  kill(): void {
    this.isServing = false
    this.process.alive = false
    for (const client of [...this.network.clients]) client.abandon()
  }

  /** Stops the ledger as a server does. Must be called in an event of the process. */
  stop(onStopped: () => void): void {
    this.isServing = false
    const stopped = Effect.suspend(() => (this.#tasks === undefined ? Effect.void : Fiber.interrupt(this.#tasks))).pipe(
      Effect.zipRight(Scope.close(this.#scope, Exit.void)),
      Effect.zipRight(Effect.exit(this.#nodes.leave)),
      Effect.zipRight(Effect.sync(onStopped))
    )
    Runtime.runFork(this.#runtime)(stopped)
  }
}
