/**
 * Parses and runs one command line, and returns the exit code of the process.
 */
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import * as ValidationError from "@effect/cli/ValidationError"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { withoutFlagValues } from "./commands/SharedOptions.ts"
import { CommandFailed } from "./exit/CommandFailed.ts"
import { reportExit } from "./exit/ExitReport.ts"
import { cliConfig, isHelpRequest, nearestHelp, ownArguments, requestedHelp } from "./help/RequestedHelp.ts"
import { run, tollgate, version } from "./Tollgate.ts"

/** Matches the options that @effect/cli adds to every command and that the Tollgate CLI refuses. */
const LIBRARY_OPTIONS = /^--(wizard|completions|log-level)(=|$)/

/** Matches an option with an empty value. @effect/cli would report that it does not know the option. */
const OPTION_WITHOUT_VALUE = /^--[a-z-]+=$/

/** Matches `--json`, also with the values that @effect/cli reads as true. */
const JSON_OPTION = /^--json(=(true|1|y|yes|on))?$/

/**
 * Runs a command, prints its result, and returns the exit code. The effect never fails. `args` is the command line
 * without the program name.
 */
export const runCommand = (args: ReadonlyArray<string>): Effect.Effect<number> =>
  dispatch(args).pipe(
    Effect.exit,
    Effect.flatMap((exit) =>
      reportExit(exit, { json: args.some((arg) => JSON_OPTION.test(arg)), help: nearestHelp(tollgate, args) })
    ),
    Effect.provide(environment)
  )

const dispatch = (args: ReadonlyArray<string>) => {
  const unknown = args.find((arg) => LIBRARY_OPTIONS.test(arg))
  if (unknown !== undefined) {
    return new CommandFailed({ exit: "usage", code: "usage", message: `There is no option ${unknown}.` })
  }
  if (isHelpRequest(args)) return Effect.flatMap(requestedHelp(tollgate, args), Console.log)
  if (args[0] === "--version") return Console.log(version)
  const empty = ownArguments(args).find((arg) => OPTION_WITHOUT_VALUE.test(arg))
  if (empty !== undefined) {
    const message = `The option ${empty.slice(0, -1)} has no value. See: ${nearestHelp(tollgate, args)}`
    return new CommandFailed({ exit: "usage", code: "usage", message })
  }
  const own = ownArguments(args)
  const parsed = [...withoutFlagValues(own), ...args.slice(own.length)]
  return Effect.zipRight(requireSubcommand(parsed), run(["node", "tollgate", ...parsed]))
}

/**
 * Fails if the command line names a group, but none of its subcommands. @effect/cli would report that the group itself
 * is not a command.
 */
const requireSubcommand = (args: ReadonlyArray<string>) => {
  const [group = ""] = args
  if (!HashMap.has(Command.getSubcommands(tollgate), group)) return Effect.void
  return CommandDescriptor.parse(tollgate.descriptor, ["tollgate", ...args], cliConfig).pipe(
    Effect.catchIf(
      ValidationError.isCommandMismatch,
      () =>
        new CommandFailed({
          exit: "usage",
          code: "usage",
          message: `The command line names no subcommand of tollgate ${group}. See: tollgate ${group} --help`
        })
    ),
    // `run` parses the command line again, and reports every other error.
    Effect.catchIf(ValidationError.isValidationError, () => Effect.void)
  )
}

const logText = (part: unknown): string => (typeof part === "string" ? part : (JSON.stringify(part) ?? String(part)))

const environment = Layer.mergeAll(
  Layer.succeed(CliConfig.CliConfig, cliConfig),
  NodeTerminal.layer,
  Path.layer,
  // @effect/cli requires this service, but no command uses it.
  FileSystem.layerNoop({}),
  Logger.replace(
    Logger.defaultLogger,
    Logger.withConsoleError(
      Logger.make(
        ({ logLevel, message }) => `${logLevel.label.toLowerCase()}: ${[message].flat().map(logText).join(" ")}`
      )
    )
  ),
  Logger.minimumLogLevel(LogLevel.Warning)
)
