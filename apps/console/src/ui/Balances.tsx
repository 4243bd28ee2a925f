/**
 * The balances of a customer: each token plan with its remaining tokens, and the pay-as-you-go balance.
 */
import type { components } from "../../dist/types/GatewayApi.d.ts"
import { useFormat } from "../format/Format.ts"
import { useTexts } from "../i18n/Language.ts"
import { Empty } from "./Notices.tsx"

export type CustomerBalances = Pick<components["schemas"]["CustomerBalances"], "payg" | "token_plans" | "as_of">

const MIN_SHOWN_PERCENT = 1

/** Returns the part that remains, in whole percent. A plan that is not exhausted never shows 0. */
const percentOf = (remaining: number, purchased: number): number =>
  remaining <= 0 ? 0 : Math.max(MIN_SHOWN_PERCENT, Math.floor((remaining / Math.max(purchased, 1)) * 100))

interface BalancesProps {
  readonly balances: CustomerBalances
  /** The next step of a customer without a plan. */
  readonly hint: string
}

export const Balances = ({ balances, hint }: BalancesProps) => {
  const { balance } = useTexts()
  const format = useFormat()
  return (
    <>
      {balances.token_plans.length === 0 ? (
        <Empty title={balance.noPlans}>
          <p>{hint}</p>
        </Empty>
      ) : (
        <ul class="plans">
          {balances.token_plans.map((plan) => (
            <li key={plan.model} class="plan">
              <div class="plan-head">
                <span class="plan-model" dir="auto">
                  {plan.model}
                </span>
                <span class={plan.status === "exhausted" ? "badge bad" : "badge good"}>
                  {balance.status[plan.status]}
                </span>
              </div>
              <p class="plan-figure">
                <strong>{format.count(plan.remaining_tokens)}</strong>{" "}
                {balance.ofTokens(format.count(plan.purchased_tokens))}
              </p>
              <progress
                max={100}
                value={percentOf(plan.remaining_tokens, plan.purchased_tokens)}
                aria-label={balance.remaining(plan.model)}
              />
            </li>
          ))}
        </ul>
      )}
      <dl class="figures-row">
        <div>
          <dt>{balance.payg}</dt>
          <dd>{format.dollars(balances.payg.balance)}</dd>
        </div>
      </dl>
      <p class="small muted">{balance.asOf(format.time(balances.as_of))}</p>
    </>
  )
}
