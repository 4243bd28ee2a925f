/**
 * Runs one command line of `tollgate`, and ends the process with its exit code.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Exit from "effect/Exit"
import { exitCodes } from "./exit/CommandFailed.ts"
import { runCommand } from "./RunCommand.ts"

// A program such as `head` may stop reading stdout early. The command still runs to its end.
process.stdout.on("error", () => {})

NodeRuntime.runMain(runCommand(process.argv.slice(2)), {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: (exit) => {
    const code = Exit.isSuccess(exit) && typeof exit.value === "number" ? exit.value : exitCodes.interrupted
    process.stdout.write("", () => process.exit(code))
  }
})
