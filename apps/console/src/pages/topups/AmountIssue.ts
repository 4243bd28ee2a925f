/**
 * Explains why the gateway refuses the amount of a new top-up.
 */
import type { Problem } from "../../api/Problem.ts"
import type { Format } from "../../format/Format.ts"
import type { Texts } from "../../i18n/Language.ts"

/**
 * Returns the reason why the amount is refused; undefined if it is not refused. With the code `amount_out_of_range`,
 * the error detail contains the bounds, such as `10000 to 9500000`, unless the payment provider refused the amount.
 */
export const amountIssueOf = (problem: Problem | undefined, { topUps }: Texts, format: Format): string | undefined => {
  const rupiah = problem?.issueOf("amount_idr")
  const issue = rupiah ?? problem?.issueOf("amount_usd_micro")
  if (problem === undefined || issue === undefined) return undefined
  if (problem.code !== "amount_out_of_range") return topUps.amountIssues[rupiah === undefined ? "dollars" : "rupiah"]
  const [, min, max] = /^(\d+) to (\d+)$/.exec(issue) ?? []
  if (min === undefined || max === undefined) return topUps.amountRefused
  const shown = (amount: string) =>
    rupiah === undefined ? format.usd(amount) : format.idr(Number.parseInt(amount, 10))
  return topUps.amountRange(shown(min), shown(max))
}
