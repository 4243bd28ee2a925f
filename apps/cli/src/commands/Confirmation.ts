/**
 * Asks for confirmation before a change that no command can undo. `--yes` skips the question.
 */
import * as Readline from "node:readline"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as ValidationError from "@effect/cli/ValidationError"
import * as Effect from "effect/Effect"
import { CommandFailed } from "../exit/CommandFailed.ts"
import { printableLine } from "../terminal/Output.ts"
import { flag } from "./SharedOptions.ts"

/**
 * The option `--yes`. It is required when stdin is not a terminal, because the operator then cannot answer the
 * question. The option is checked before the database is opened.
 */
export const yes = flag("yes", "Skip the confirmation.").pipe(
  Options.mapEffect((yes) =>
    yes || process.stdin.isTTY
      ? Effect.succeed(yes)
      : Effect.fail(
          ValidationError.missingValue(
            HelpDoc.p("This command asks for confirmation, and stdin is not a terminal. Add --yes to confirm.")
          )
        )
  )
)

export const confirm = (question: string, yes: boolean): Effect.Effect<void, CommandFailed> =>
  Effect.gen(function* () {
    if (yes) return
    const reply = yield* ask(`${printableLine(question)} [y/N] `)
    if (!/^y(es)?$/i.test(reply.trim())) {
      return yield* new CommandFailed({ exit: "failed", code: "cancelled", message: "Cancelled. Nothing was changed." })
    }
  })

/** Prints the question to stderr and reads one line from the terminal. The end of the input counts as an empty line. */
const ask = (question: string): Effect.Effect<string> =>
  Effect.async((resume) => {
    // With `terminal: true`, Readline would intercept Ctrl-C. With `false`, Ctrl-C sends SIGINT to the process.
    const lines = Readline.createInterface({ input: process.stdin, output: process.stderr, terminal: false })
    lines.once("line", (line) => {
      resume(Effect.succeed(line))
      lines.close()
    })
    lines.once("close", () => resume(Effect.succeed("")))
    process.stderr.write(question)
    return Effect.sync(() => lines.close())
  })
