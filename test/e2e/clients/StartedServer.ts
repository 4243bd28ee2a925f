/**
 * Starts a server as `npm start` does: with its own Postgres, a simulated upstream with a realistic pace, and the demo
 * customer.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { Effect } from "effect"
import * as CommandLine from "../../cli/CommandLine.ts"
import { RecordingProxy } from "../../support/RecordingProxy.ts"
import { unusedAddress } from "../../support/ScriptedUpstream.ts"
import { ServerProcess } from "../../support/ServerProcess.ts"
import type { GatewayUnderTest } from "./GatewayUnderTest.ts"

export const startedServer = async (): Promise<GatewayUnderTest> => {
  const home = mkdtempSync(join(tmpdir(), "tollgate-clients-"))
  const upstream = new URL(await unusedAddress())
  const server = await ServerProcess.start({ NODE_ENV: "development", DATA_DIR: home, SIMULATOR_PORT: upstream.port })
  await server.printed(/Ctrl-C/)
  const printedValue = (name: string): string => new RegExp(`^ +${name} +(\\S+)$`, "m").exec(server.stdout)?.[1] ?? ""
  const proxy = await RecordingProxy.start(server.url)

  /** Runs a command of the `tollgate` CLI on the database of the running server, and returns its output. */
  const tollgate = async (...args: ReadonlyArray<string>): Promise<unknown> => {
    const printed = await Effect.runPromise(CommandLine.start({ DATA_DIR: home }, ...args, "--json").printed)
    if (printed.code !== 0) throw new Error(`tollgate ${args.join(" ")} exited with ${printed.code}: ${printed.stderr}`)
    return CommandLine.documentOf(printed)
  }

  return {
    url: proxy.url,
    key: printedValue("key"),
    model: "demo-chat",
    // The prices of `demo-chat` in the demo catalog.
    price: { input: 250_000n, cacheWrite: 250_000n, cacheRead: 25_000n, output: 2_000_000n },
    credit: UsdPico(10_000_000_000_000n),
    balance: async () => {
      const user = await tollgate("users", "show", printedValue("customer"))
      return (user as { readonly payg: { readonly balance: string } }).payg.balance
    },
    breakStreams: () => server.signal("SIGKILL"),
    leaks: () => proxy.leaksOf(["simulator", "simulated-small", upstream.host, printedValue("key")]),
    close: async () => {
      await proxy.close()
      await server.stop()
      await tollgate("audit")
      rmSync(home, { recursive: true, force: true })
    }
  }
}
