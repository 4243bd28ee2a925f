/**
 * What `npm start` gives a newcomer: a server of its own with its own Postgres, a simulated supplier at the pace of a
 * real one, and the customer of the demo.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { Effect } from "effect"
import * as CommandLine from "../../cli/CommandLine.ts"
import { nobodyThere } from "../../support/ScriptedUpstream.ts"
import { ServerProcess } from "../../support/ServerProcess.ts"
import { Wiretap } from "../../support/Wiretap.ts"
import type { Venue } from "./Venue.ts"

export const startedVenue = async (): Promise<Venue> => {
  const home = mkdtempSync(join(tmpdir(), "tollgate-clients-"))
  const supplier = new URL(await nobodyThere())
  const server = await ServerProcess.start({ NODE_ENV: "development", DATA_DIR: home, SIMULATOR_PORT: supplier.port })
  await server.printed(/Ctrl-C/)
  const told = (name: string): string => new RegExp(`^ +${name} +(\\S+)$`, "m").exec(server.stdout)?.[1] ?? ""
  const tap = await Wiretap.start(server.url)

  /** What the command line prints, as an operator types it beside the server. */
  const tollgate = async (...args: ReadonlyArray<string>): Promise<unknown> => {
    const printed = await Effect.runPromise(CommandLine.start({ DATA_DIR: home }, ...args, "--json").printed)
    if (printed.code !== 0) throw new Error(`tollgate ${args.join(" ")} ended with ${printed.code}: ${printed.stderr}`)
    return CommandLine.documentOf(printed)
  }

  return {
    url: tap.url,
    key: told("key"),
    model: "demo-chat",
    // As in the catalog of the demo.
    price: { input: 250_000n, cacheWrite: 250_000n, cacheRead: 25_000n, output: 2_000_000n },
    credit: UsdPico(10_000_000_000_000n),
    balance: async () => {
      const user = await tollgate("users", "show", told("customer"))
      return (user as { readonly payg: { readonly balance: string } }).payg.balance
    },
    breakStreams: () => server.signal("SIGKILL"),
    leaks: () => tap.leaksOf(["simulator", "simulated-small", supplier.host, told("key")]),
    close: async () => {
      await tap.close()
      await server.stop()
      await tollgate("audit")
      rmSync(home, { recursive: true, force: true })
    }
  }
}
