/**
 * Prepares each test file, and registers the functions that run after every test and after every file: the check of the
 * recorded replies against the OpenAPI document, and the cleanup. Vitest loads this module for each file.
 */
import { appendFileSync } from "node:fs"
import { effect, it, layer, scoped } from "@effect/vitest"
import { afterAll, afterEach, beforeAll, expect, inject, type RunnerTestCase, type RunnerTestSuite } from "vitest"
import { removeLeftovers } from "./Leftovers.ts"
import { takeReplies } from "./openapi/RecordedReply.ts"
import { mayRunAgain } from "./Retries.ts"

// A call of `layer` replaces these methods of `it` with methods that use the services of that layer. The files of a
// worker share `it`, so without this line the tests of the next file could run without the test services, such as
// TestClock.
Object.assign(it, { effect, layer, scoped })

takeReplies()

/**
 * Fails if the OpenAPI document does not state a reply. The document is loaded only if there is a reply. The fuzz tests
 * are not checked: their targets have invalid paths, and their upstreams send invalid events.
 */
const checkReplies = async (): Promise<void> => {
  const replies = takeReplies()
  if (replies.length === 0 || expect.getState().testPath?.includes("/test/fuzz/")) return
  const { deviationOfReply } = await import("./openapi/DocumentedReplies.ts")
  appendFileSync(inject("checkedReplies"), `${replies.length}\n`)
  const deviations = new Set(replies.map(deviationOfReply).filter((deviation) => deviation !== undefined))
  if (deviations.size > 0) throw new Error([...deviations].slice(0, 5).join("\n\n"))
}

const removeRetries = ({ tasks }: RunnerTestSuite): void => {
  for (const task of tasks) {
    if (task.type === "suite") removeRetries(task)
    else (task as RunnerTestCase).retry = 0
  }
}

beforeAll((file) => {
  if (!mayRunAgain(file.file.filepath)) removeRetries(file as RunnerTestSuite)
})
afterEach(checkReplies)
afterAll(checkReplies)
afterAll(removeLeftovers)
