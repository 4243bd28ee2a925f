/**
 * Defines the operators' CLI: every command, with the layer that provides its ports.
 */
import { readFileSync } from "node:fs"
import * as Command from "@effect/cli/Command"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { audit } from "./commands/Audit.ts"
import { blacklist } from "./commands/Blacklist.ts"
import { catalog, catalogApply, catalogShow } from "./commands/Catalog.ts"
import { operatorConsole } from "./commands/Console.ts"
import { customers } from "./commands/Customers.ts"
import { doctorOver } from "./commands/Doctor.ts"
import { holds } from "./commands/Holds.ts"
import { imageReview, images } from "./commands/Images.ts"
import { keys } from "./commands/Keys.ts"
import { migrate } from "./commands/Migrate.ts"
import { mints } from "./commands/Mints.ts"
import { payg } from "./commands/Payg.ts"
import { quota } from "./commands/Quota.ts"
import { rankings } from "./commands/Rankings.ts"
import { requests } from "./commands/Requests.ts"
import { resellers } from "./commands/Resellers.ts"
import { spend } from "./commands/Spend.ts"
import { topUpsOver } from "./commands/TopUps.ts"
import { usage } from "./commands/Usage.ts"
import { users } from "./commands/Users.ts"
import { endpoints } from "./commands/WebhookEndpoints.ts"
import { webhooks } from "./commands/Webhooks.ts"
import { CommandFailed } from "./exit/CommandFailed.ts"
import * as Live from "./runtime/Live.ts"

/**
 * Builds the layer only when the command runs. Help and errors in the parsing of the command line do not open the
 * database.
 */
const withLive =
  <Ports>(live: Layer.Layer<Ports, CommandFailed>, ...within: ReadonlyArray<string>) =>
  <Name extends string, R, E, A>(command: Command.Command<Name, R, E, A>) =>
    Command.provide(command, (given: A) => (isIncomplete(given) ? Layer.fail(incomplete(command, within)) : live))

const isIncomplete = (given: unknown): boolean =>
  typeof given === "object" &&
  given !== null &&
  "subcommand" in given &&
  Option.isOption(given.subcommand) &&
  Option.isNone(given.subcommand)

const incomplete = <Name extends string, R, E, A>(
  group: Command.Command<Name, R, E, A>,
  within: ReadonlyArray<string>
): CommandFailed => {
  const name = [...within, ...Command.getNames(group)].join(" ")
  const commands = [...HashMap.keys(Command.getSubcommands(group))].sort().join(", ")
  return new CommandFailed({
    exit: "usage",
    code: "usage",
    message: `tollgate ${name} needs a subcommand: ${commands}. See: tollgate ${name} --help`
  })
}

const withReadyDatabase = withLive(Live.ready)

export const tollgate = Command.make("tollgate").pipe(
  Command.withDescription(
    "Administers a Tollgate gateway: resellers, users, API keys, balances, the catalog and the ledger."
  ),
  Command.withSubcommands([
    withLive(Live.connected)(migrate),
    withReadyDatabase(audit),
    doctorOver(Live.settings, Live.opened),
    withLive(Layer.empty)(catalog(withReadyDatabase(catalogApply), withReadyDatabase(catalogShow))),
    withReadyDatabase(resellers),
    withReadyDatabase(blacklist),
    withReadyDatabase(users),
    withReadyDatabase(customers),
    withLive(Live.readyForKeys)(keys),
    withReadyDatabase(payg),
    withReadyDatabase(quota),
    withReadyDatabase(topUpsOver(Live.providers)),
    withReadyDatabase(mints),
    withReadyDatabase(usage),
    withReadyDatabase(spend),
    withReadyDatabase(requests),
    withReadyDatabase(holds),
    withLive(Layer.empty)(images(withLive(Live.ready, "images")(imageReview))),
    withReadyDatabase(rankings),
    withLive(Live.readyForKeys)(webhooks(withLive(Layer.empty, "webhooks")(endpoints))),
    Command.provide(operatorConsole, () => Live.ready)
  ])
)

const packageJson: { readonly version: string } = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.url), "utf8")
)

export const version = packageJson.version

/** Runs the command in an array that has the form of `process.argv`. */
export const run = Command.run(tollgate, { name: "tollgate", version, executable: "tollgate" })
