/**
 * The question before something that cannot be undone; `--yes` answers it.
 */
import * as Readline from "node:readline"
import * as Effect from "effect/Effect"
import { CommandFailed } from "../runtime/CommandFailed.ts"
import { printableLine } from "./Printable.ts"

export const confirm = (question: string, yes: boolean): Effect.Effect<void, CommandFailed> =>
  Effect.gen(function* () {
    if (yes) return
    const answer = yield* ask(`${printableLine(question)} [y/N] `)
    if (!/^y(es)?$/i.test(answer.trim())) {
      return yield* new CommandFailed({ exit: "failed", code: "cancelled", message: "Cancelled. Nothing was changed." })
    }
  })

/** One line from the terminal; the end of the input counts as an empty one. Asks on stderr. */
const ask = (question: string): Effect.Effect<string> =>
  Effect.async((resume) => {
    // Not in terminal mode: Ctrl-C stays a signal to the process.
    const lines = Readline.createInterface({ input: process.stdin, output: process.stderr, terminal: false })
    lines.once("line", (line) => {
      resume(Effect.succeed(line))
      lines.close()
    })
    lines.once("close", () => resume(Effect.succeed("")))
    process.stderr.write(question)
    return Effect.sync(() => lines.close())
  })
