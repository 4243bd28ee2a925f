/**
 * Registers the functions that run after every test and after every test file: the check of the recorded replies
 * against the OpenAPI document, and the cleanup. Vitest loads this module for each file.
 */
import { appendFileSync } from "node:fs"
import { afterAll, afterEach, expect, inject } from "vitest"
import { removeLeftovers } from "./Leftovers.ts"
import { takeReplies } from "./openapi/RecordedReply.ts"

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

afterEach(checkReplies)
afterAll(checkReplies)
afterAll(removeLeftovers)
