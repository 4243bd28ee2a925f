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
import { unusedAddress } from "../../support/ScriptedUpstream.ts"
import { ServerProcess } from "../../support/ServerProcess.ts"
import { Wiretap } from "../../support/Wiretap.ts"
import type { Venue } from "./Venue.ts"

export const startedVenue = async (): Promise<Venue> => {
  const home = mkdtempSync(join(tmpdir(), "tollgate-clients-"))
  const upstream = new URL(await unusedAddress())
  const server = await ServerProcess.start({ NODE_ENV: "development", DATA_DIR: home, SIMULATOR_PORT: upstream.port })
  await server.printed(/Ctrl-C/)
  const told = (name: string): string => new RegExp(`^ +${name} +(\\S+)$`, "m").exec(server.stdout)?.[1] ?? ""
  const tap = await Wiretap.start(server.url)

  /** Runs a command of the `tollgate` CLI on the database of the running server, and returns its output. */
  const tollgate = async (...args: ReadonlyArray<string>): Promise<unknown> => {
    const printed = await Effect.runPromise(CommandLine.start({ DATA_DIR: home }, ...args, "--json").printed)
    if (printed.code !== 0) throw new Error(`tollgate ${args.join(" ")} exited with ${printed.code}: ${printed.stderr}`)
    return CommandLine.documentOf(printed)
  }

  return {
    url: tap.url,
    key: told("key"),
    model: "demo-chat",
    // The prices of `demo-chat` in the demo catalog.
    price: { input: 250_000n, cacheWrite: 250_000n, cacheRead: 25_000n, output: 2_000_000n },
    credit: UsdPico(10_000_000_000_000n),
    balance: async () => {
      const user = await tollgate("users", "show", told("customer"))
      return (user as { readonly payg: { readonly balance: string } }).payg.balance
    },
    breakStreams: () => server.signal("SIGKILL"),
    leaks: () => tap.leaksOf(["simulator", "simulated-small", upstream.host, told("key")]),
    close: async () => {
      await tap.close()
      await server.stop()
      await tollgate("audit")
      rmSync(home, { recursive: true, force: true })
    }
  }
}
