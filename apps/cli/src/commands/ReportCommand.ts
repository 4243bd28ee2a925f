/**
 * Defines a command that takes `--json`, prints one report, and exits with 1 if the report shows a problem.
 */
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import { CommandFailed } from "../exit/CommandFailed.ts"
import { print, type Report } from "../terminal/Output.ts"
import { flag } from "./SharedOptions.ts"

export const json = flag("json", "Print one JSON document, for programs.")

export const reportCommand = <const Name extends string, const Config extends Command.Command.Config, E, R>(
  name: Name,
  description: string,
  config: Config,
  run: (given: Command.Command.ParseConfig<Config>) => Effect.Effect<Report, E, R>
) =>
  Command.make(name, { given: config, json }, ({ given, json }) =>
    Effect.gen(function* () {
      const report = yield* run(given as Command.Command.ParseConfig<Config>)
      yield* print(json, report)
      if (report.problem !== undefined) {
        yield* new CommandFailed({ exit: "failed", ...report.problem, reported: true })
      }
    })
  ).pipe(Command.withDescription(description))
