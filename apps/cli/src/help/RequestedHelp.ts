/**
 * Returns the help text for `--help` and for an empty command line.
 */
import * as BuiltInOptions from "@effect/cli/BuiltInOptions"
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import * as CommandDirective from "@effect/cli/CommandDirective"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import { helpPage } from "./HelpPage.ts"

/** Parser settings, shared by the commands and their help. */
export const cliConfig = CliConfig.make({ showBuiltIns: false, showAllNames: false, isCaseSensitive: true })

const FOOTER = `Every command takes --help. Every command except "usage export" takes --json (one JSON document
on stdout, for programs).
Exit codes: 0 success, 1 failure, 2 wrong usage, 3 refused by a business rule.
Commands use the database in DATABASE_URL. The default is the embedded Postgres in
DATA_DIR; a command starts this Postgres when no server runs it.`

/** Returns the arguments before `--`, which can be options. */
export const ownArguments = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.includes("--") ? args.slice(0, args.indexOf("--")) : args

/** Returns whether the command line requests help. An empty command line counts as a request. */
export const isHelpRequest = (args: ReadonlyArray<string>): boolean => {
  const own = ownArguments(args)
  return own.length === 0 || own.includes("--help") || own.includes("-h")
}

/** Returns the help of the command that the arguments name, or of the nearest group. */
export const requestedHelp = <Name extends string, R, E, A>(
  root: Command.Command<Name, R, E, A>,
  args: ReadonlyArray<string>
) =>
  Effect.gen(function* () {
    const words = args.filter((arg) => !arg.startsWith("-"))
    const directive = yield* CommandDescriptor.parse(root.descriptor, ["tollgate", ...words, "--help"], cliConfig)
    const help =
      CommandDirective.isBuiltIn(directive) && BuiltInOptions.isShowHelp(directive.option)
        ? directive.option
        : {
            usage: CommandDescriptor.getUsage(root.descriptor),
            helpDoc: CommandDescriptor.getHelp(root.descriptor, cliConfig)
          }
    return [helpPage(words, help.usage, help.helpDoc), FOOTER].join("\n\n")
  })

/**
 * Returns a command line with --help: for the command that the first argument names, or for `tollgate` if it names
 * none.
 */
export const nearestHelp = <Name extends string, R, E, A>(
  root: Command.Command<Name, R, E, A>,
  [first = ""]: ReadonlyArray<string>
): string => (HashMap.has(Command.getSubcommands(root), first) ? `tollgate ${first} --help` : "tollgate --help")
