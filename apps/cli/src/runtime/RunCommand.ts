/**
 * One command line, from its words to its exit code.
 */
import * as CliConfig from "@effect/cli/CliConfig"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { asksForHelp, cliConfig, helpNear, helpOn } from "../help/RequestedHelp.ts"
import { run, tollgate, version } from "../Tollgate.ts"
import { CommandFailed } from "./CommandFailed.ts"
import { conclude } from "./ExitReport.ts"

/** Options that the library gives every command and that none of ours promises. */
const UNPROMISED = /^--(wizard|completions|log-level)(=|$)/

/** Carries a command out and says what came of it; never fails. `args` are what stands after the program's name. */
export const execute = (args: ReadonlyArray<string>): Effect.Effect<number> =>
  dispatch(args).pipe(
    Effect.exit,
    Effect.flatMap((exit) => conclude(exit, { json: args.includes("--json"), help: helpNear(tollgate, args) })),
    Effect.provide(environment)
  )

const dispatch = (args: ReadonlyArray<string>) => {
  const unpromised = args.find((arg) => UNPROMISED.test(arg))
  if (unpromised !== undefined) {
    return new CommandFailed({ exit: "usage", code: "usage", message: `There is no option ${unpromised}.` })
  }
  if (asksForHelp(args)) return Effect.flatMap(helpOn(tollgate, args), Console.log)
  if (args[0] === "--version") return Console.log(version)
  return run(["node", "tollgate", ...args])
}

/** Facts beside the words are shown as JSON. */
const told = (part: unknown): string => (typeof part === "string" ? part : (JSON.stringify(part) ?? String(part)))

const environment = Layer.mergeAll(
  Layer.succeed(CliConfig.CliConfig, cliConfig),
  NodeTerminal.layer,
  Path.layer,
  // No command lets the library look at files.
  FileSystem.layerNoop({}),
  Logger.replace(
    Logger.defaultLogger,
    Logger.withConsoleError(
      Logger.make(({ logLevel, message }) => `${logLevel.label.toLowerCase()}: ${[message].flat().map(told).join(" ")}`)
    )
  ),
  Logger.minimumLogLevel(LogLevel.Warning)
)
