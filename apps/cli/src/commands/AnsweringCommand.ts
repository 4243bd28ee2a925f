/**
 * The form of every command: it takes `--json`, answers once, and ends with 1 when the answer is bad news.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import { CommandFailed } from "../runtime/CommandFailed.ts"
import { type Answer, print } from "../terminal/Output.ts"

const json = Options.boolean("json").pipe(Options.withDescription("Print one JSON document, for programs."))

export const answering = <const Name extends string, const Config extends Command.Command.Config, E, R>(
  name: Name,
  description: string,
  config: Config,
  run: (given: Command.Command.ParseConfig<Config>) => Effect.Effect<Answer, E, R>
) =>
  Command.make(name, { given: config, json }, ({ given, json }) =>
    Effect.gen(function* () {
      const answer = yield* run(given as Command.Command.ParseConfig<Config>)
      yield* print(json, answer)
      if (answer.trouble !== undefined) {
        yield* new CommandFailed({ exit: "failed", ...answer.trouble, answered: true })
      }
    })
  ).pipe(Command.withDescription(description))
