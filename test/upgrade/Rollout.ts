/**
 * Upgrades a deployment under load from one release to another, in the steps of docs/operations.md ("Upgrades"). Then
 * it replaces all servers of the new release by other servers of the same release.
 *
 * Each old server is removed from the load balancer before it gets SIGTERM. The new servers get SIGTERM without being
 * removed first: the load balancer notices the stop by `/readyz`.
 */
import { eventually } from "../bench/Target.ts"
import { Balancer } from "./Balancer.ts"
import { Deployment, type RunningServer } from "./Deployment.ts"
import { Load } from "./Load.ts"
import { startProvider } from "./Provider.ts"

export interface RolloutOptions {
  /** The folders of the built releases. */
  readonly old: string
  readonly fresh: string
  readonly directory: string
  readonly servers: number
  readonly streams: number
  readonly whole: number
  /** The time of load in milliseconds between two steps. */
  readonly pauseMillis: number
  readonly print: (line: string) => void
}

export interface RolloutReport {
  readonly succeeded: { readonly streams: number; readonly whole: number }
  readonly failures: ReadonlyArray<string>
  /**
   * The number of requests that the load balancer sent to a second server because the first server refused the
   * connection.
   */
  readonly retried: number
  readonly migrations: ReadonlyArray<string>
  readonly migrateMillis: number
  /** For each server, the time from SIGTERM to its exit, and whether its exit code was 0. */
  readonly drains: ReadonlyArray<{
    readonly release: "old" | "fresh"
    readonly millis: number
    readonly clean: boolean
  }>
  readonly charges: { readonly settled: number; readonly exact: number }
  /** The error of the audit; empty if the audit found no difference. */
  readonly audit: string
}

export const rollOut = async (options: RolloutOptions): Promise<RolloutReport> => {
  const { directory, fresh, old, pauseMillis, print, servers: count, streams, whole } = options
  const provider = await startProvider()
  const deployment = await Deployment.start(directory, provider.port)
  const balancer = await Balancer.start()
  const drains: Array<RolloutReport["drains"][number]> = []
  const pause = () => new Promise((resolve) => setTimeout(resolve, pauseMillis))
  let load: Load | undefined

  const startServers = async (checkout: string): Promise<ReadonlyArray<RunningServer>> => {
    const started: Array<RunningServer> = []
    for (let i = 0; i < count; i++) started.push(await deployment.server(checkout))
    for (const { port } of started) balancer.add(port)
    for (const { port } of started) await eventually("the load balancer", 120_000, async () => balancer.isReady(port))
    return started
  }
  const step = (text: string) =>
    print(
      `${new Date().toISOString().slice(11, 19)} ${text}; requests so far: ${load?.total ?? 0}, failed: ${load?.failures.length ?? 0}`
    )
  const stopServers = async (release: "old" | "fresh", servers: ReadonlyArray<RunningServer>): Promise<void> => {
    for (const server of servers) {
      if (release === "old") balancer.remove(server.port)
      const { code, millis } = await server.drain()
      drains.push({ release, millis, clean: code === 0 })
      step(`a server of the ${release === "old" ? "old" : "new"} release has exited`)
    }
  }

  try {
    await deployment.tollgate(old, "migrate")
    const oldServers = await startServers(old)
    const keys = [
      await deployment.aKey(old, "one@example.com"),
      await deployment.aKey(old, "two@example.com"),
      // The ledger counts the requests of this key.
      await deployment.aKey(old, "limited@example.com", "--usd-micro-per-day", "1000000000")
    ]
    load = new Load({ url: balancer.url, keys, streams, whole })
    await pause()
    step("the old release serves")

    const beforeMigration = performance.now()
    const { applied } = (await deployment.tollgate(fresh, "migrate")) as { readonly applied: ReadonlyArray<string> }
    const migrateMillis = performance.now() - beforeMigration
    await pause()
    step(`migrated with the new release: ${applied.join(", ") || "nothing to do"}`)

    const freshServers = await startServers(fresh)
    await pause()
    step("both releases serve")
    await stopServers("old", oldServers)
    await pause()
    await deployment.tollgate(fresh, "audit")
    step("the new release serves, and the audit is clean")

    await startServers(fresh)
    await stopServers("fresh", freshServers)
    await pause()
    await load.stop()
    step("the servers of the new release were replaced")

    await eventually("the last settlements", 180_000, async () => {
      const holds = await deployment.tollgate(fresh, "holds", "list")
      return Array.isArray(holds) && holds.length === 0
    })
    const audit = await deployment.tollgate(fresh, "audit").then(
      () => "",
      (error: unknown) => String(error)
    )
    const charges = await deployment.charges()
    const figures = { succeeded: load.succeeded, failures: load.failures, retried: balancer.retried, charges }
    return { ...figures, migrations: applied, migrateMillis, drains, audit }
  } finally {
    await load?.stop()
    balancer.close()
    await deployment.stop()
    provider.server.close()
    provider.server.closeAllConnections()
  }
}
