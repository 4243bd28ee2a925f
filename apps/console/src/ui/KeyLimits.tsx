/**
 * Shows the limits of an API key: as words in one line, or as a table with the used amounts.
 */
import type { components } from "../../dist/types/GatewayApi.d.ts"
import { countMembers, type KeyLimits, type LimitMember, spendMembers } from "../api/KeyLimits.ts"
import { useFormat } from "../format/Format.ts"
import { useTexts } from "../i18n/Language.ts"

type LimitUsage = components["schemas"]["LimitUsage"]

interface LimitWordsProps {
  readonly limits: KeyLimits
}

/** The limits of a key in one line. */
export const LimitWords = ({ limits }: LimitWordsProps) => {
  const { limits: texts } = useTexts()
  const format = useFormat()
  const words = [
    ...spendMembers.map((member) => writeLimit(limits[member], (amount) => texts.words[member](format.usd(amount)))),
    ...countMembers.map((member) => writeLimit(limits[member], (count) => texts.words[member](format.count(count)))),
    writeLimit(limits.expires_at, (time) => texts.words.expires_at(format.time(time))),
    writeLimit(limits.models, (models) => texts.words.models(models.join(", ")))
  ]
  return (
    <span dir="auto">
      {texts.title}: {words.filter((word) => word !== undefined).join(" · ")}
    </span>
  )
}

const writeLimit = <A,>(limit: A | null, write: (limit: A) => string): string | undefined =>
  limit === null ? undefined : write(limit)

const used = {
  spend_usd_micro_per_day: "spent_usd_micro_today",
  spend_usd_micro_per_month: "spent_usd_micro_this_month",
  spend_usd_micro_total: "spent_usd_micro_total",
  requests_per_minute: "requests_this_minute",
  tokens_per_minute: "tokens_this_minute",
  concurrent_requests: "open_requests"
} as const

interface LimitTableProps {
  readonly limits: KeyLimits
  readonly usage: LimitUsage | null | undefined
}

/** The limits of a key. With `usage`, a counted limit has its used amount beside it. */
export const LimitTable = ({ limits, usage }: LimitTableProps) => {
  const { limits: texts } = useTexts()
  const format = useFormat()
  const ofLimit = (limit: string, spent: string | undefined) => (spent === undefined ? limit : texts.used(spent, limit))
  const lines: ReadonlyArray<readonly [LimitMember, string | undefined]> = [
    ...spendMembers.map(
      (member) =>
        [
          member,
          writeLimit(limits[member], (amount) =>
            ofLimit(format.usd(amount), usage ? format.cost(usage[used[member]]) : undefined)
          )
        ] as const
    ),
    ...countMembers.map(
      (member) =>
        [
          member,
          writeLimit(limits[member], (count) =>
            ofLimit(format.count(count), usage ? format.count(usage[used[member]]) : undefined)
          )
        ] as const
    ),
    ["expires_at", writeLimit(limits.expires_at, format.time)],
    ["models", writeLimit(limits.models, (models) => models.join(", "))]
  ]
  return (
    <dl class="summary">
      {lines.map(([member, value]) =>
        value === undefined ? null : (
          <div key={member} class="contents">
            <dt>{texts.fields[member]}</dt>
            <dd dir="auto">{value}</dd>
          </div>
        )
      )}
    </dl>
  )
}
