/**
 * A settled request in a list of usage: its model, time, tokens and cost.
 */
import { useFormat } from "../format/Format.ts"
import { useTexts } from "../i18n/Language.ts"

export interface UsageItem {
  readonly model: string
  readonly timestamp: string
  readonly total_tokens: number
  readonly display_cost_usd_micro: string
}

export interface UsageRowProps {
  readonly item: UsageItem
  /** The customer of the request, in a list with several customers. */
  readonly customer?: string | undefined
}

export const UsageRow = ({ customer, item }: UsageRowProps) => {
  const { usage: texts } = useTexts()
  const format = useFormat()
  const model = <span dir="auto">{item.model}</span>
  const time = format.time(item.timestamp)
  return (
    <li class="row">
      {customer === undefined ? (
        <span class="row-main">
          {model}
          <small>{time}</small>
        </span>
      ) : (
        <span class="row-main">
          <span dir="auto">{customer}</span>
          <small>
            {model} · {time}
          </small>
        </span>
      )}
      <span class="row-side">
        <span class="money">{texts.tokensOf(format.count(item.total_tokens))}</span>
        <small class="money">{format.cost(item.display_cost_usd_micro)}</small>
      </span>
    </li>
  )
}
