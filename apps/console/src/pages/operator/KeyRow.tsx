/**
 * An API key in a list, with a link to its page.
 */
import type { ListedKey } from "../../api/Operator.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { operatorPath } from "../../routes/Routes.ts"

export const KeyRow = ({ entry }: { readonly entry: ListedKey }) => {
  const { keys: shared } = useTexts()
  const { keys: texts } = useOperatorTexts()
  const format = useFormat()
  return (
    <li>
      <a class="row" href={operatorPath("operatorKey", entry.key_id)}>
        <span class="row-main">
          <span dir="auto">{entry.name}</span>
          <small>
            <span dir="auto">{entry.email}</span>
            <br />
            <code>{entry.prefix}…</code>
            <br />
            {entry.last_used_at === null ? shared.neverUsed : shared.lastUsed(format.time(entry.last_used_at))}
          </small>
        </span>
        {entry.revoked_at !== null ? (
          <span class="badge">{shared.revoked}</span>
        ) : entry.limits !== null ? (
          <span class="badge info">{texts.limited}</span>
        ) : (
          <span class="chevron" aria-hidden="true" />
        )}
      </a>
    </li>
  )
}
