/**
 * The sums of a range of days: tokens, requests and cost.
 */
import { useFormat } from "../format/Format.ts"
import { useTexts } from "../i18n/Language.ts"
import type { DailyUsage } from "./UsageChart.tsx"

const FRACTION_DIGITS = 6

/**
 * Adds amounts in micro-USD with at most six decimals exactly. The computation uses integers in millionths of a
 * micro-USD.
 */
const sumOf = (costs: ReadonlyArray<string>): string => {
  const sum = costs.reduce((total, cost) => {
    const [whole = "0", fraction = ""] = cost.split(".")
    return total + BigInt(whole + fraction.padEnd(FRACTION_DIGITS, "0").slice(0, FRACTION_DIGITS))
  }, 0n)
  const digits = sum.toString().padStart(FRACTION_DIGITS + 1, "0")
  return `${digits.slice(0, -FRACTION_DIGITS)}.${digits.slice(-FRACTION_DIGITS)}`
}

export const UsageSums = ({ usage }: { readonly usage: DailyUsage }) => {
  const { usage: texts } = useTexts()
  const format = useFormat()
  const figures: ReadonlyArray<readonly [string, string]> = [
    [texts.tokens, format.count(usage.days.reduce((sum, day) => sum + day.total_tokens, 0))],
    [texts.requests, format.count(usage.days.reduce((sum, day) => sum + day.requests, 0))],
    [texts.cost, format.cost(sumOf(usage.days.map((day) => day.display_cost_usd_micro)))]
  ]
  return (
    <dl class="figures-row">
      {figures.map(([name, figure]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{figure}</dd>
        </div>
      ))}
    </dl>
  )
}
