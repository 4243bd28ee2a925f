/**
 * `tollgate`: runs one command and ends with its exit code, leaving nothing running.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Exit from "effect/Exit"
import { exitCodes } from "./runtime/CommandFailed.ts"
import { execute } from "./runtime/RunCommand.ts"

// Whoever reads our output may leave early, as `head` does; the command still comes to its proper end.
process.stdout.on("error", () => {})

NodeRuntime.runMain(execute(process.argv.slice(2)), {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: (exit) => {
    const code = Exit.isSuccess(exit) && typeof exit.value === "number" ? exit.value : exitCodes.interrupted
    process.stdout.write("", () => process.exit(code))
  }
})
