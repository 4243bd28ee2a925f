/**
 * Runs the accessibility rules of the library axe in a page.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/**
 * `all` runs every rule. `colors` runs only the rules about colours. `colors` is sufficient for a page that `all` has
 * checked in another colour scheme, because a colour scheme changes nothing else.
 */
export type Rules = "all" | "colors"

const COLOR_RULES = ["color-contrast", "link-in-text-block"]

/**
 * Returns the violations. The debugger protocol starts axe, because the Content-Security-Policy refuses a script
 * element.
 */
export const violationsOf = async (page: Page, rules: Rules = "all"): Promise<ReadonlyArray<string>> => {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(source)
  // Without `resultTypes`, axe describes every element that violates no rule, which takes seconds for a long page.
  const options = { resultTypes: ["violations"], ...(rules === "colors" ? { runOnly: COLOR_RULES } : {}) }
  return page.evaluate(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => id + ": " + html.slice(0, 200) + " " + failureSummary)))`
  )
}
