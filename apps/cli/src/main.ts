/**
 * Runs one command line of `tollgate`, and ends the process with its exit code.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Exit from "effect/Exit"
import { exitCodes } from "./exit/CommandFailed.ts"
import { runCommand } from "./RunCommand.ts"

/** The first error of a write to stdout. The command still runs to its end. */
let outputError: NodeJS.ErrnoException | undefined
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  outputError ??= error
})

/** Reports that the output is incomplete, for example because the disk is full, and returns the exit code. */
const reportOutput = (code: number): number => {
  // With EPIPE, the reader has closed the pipe: a program such as `head` needs only the beginning of the output.
  if (outputError === undefined || outputError.code === "EPIPE") return code
  console.error(`The output is incomplete, but the command ran: stdout cannot be written (${outputError.message}).`)
  return code === exitCodes.done ? exitCodes.failed : code
}

NodeRuntime.runMain(runCommand(process.argv.slice(2)), {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: (exit) => {
    const code = Exit.isSuccess(exit) && typeof exit.value === "number" ? exit.value : exitCodes.interrupted
    // Node.js emits the error of a write after its callback.
    process.stdout.write("", () => setImmediate(() => process.exit(reportOutput(code))))
  }
})
