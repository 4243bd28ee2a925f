/**
 * Runs the rules of axe in a page.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
const RUN = `axe.run().then(({ violations }) => JSON.stringify(violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 200)).join(" | "))))`

/** Returns the violations. The debugger evaluates the rules, because the policy of the page allows no other script. */
export const violationsOf = async (page: Page): Promise<ReadonlyArray<string>> => {
  const debuggerSession = await page.context().newCDPSession(page)
  const { result } = await debuggerSession.send("Runtime.evaluate", {
    expression: `${source};${RUN}`,
    awaitPromise: true,
    returnByValue: true
  })
  await debuggerSession.detach()
  return JSON.parse(String(result.value)) as ReadonlyArray<string>
}
