/**
 * The API keys of a customer, or of all customers of a reseller. Each key has a link to its page.
 */
import { type KeyPage, type ListedKey, pageQuery } from "../../api/Operator.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { operatorPath } from "../../routes/Routes.ts"
import { Card } from "../../ui/Page.tsx"
import { usePages } from "../../ui/Pages.tsx"
import { RowList } from "../../ui/RowList.tsx"

const KeyRow = ({ entry }: { readonly entry: ListedKey }) => {
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

interface KeysCardProps {
  readonly title: string
  /** The id of the customer or of the reseller. */
  readonly owner: string
  readonly read: (query: { readonly cursor?: string }) => Promise<KeyPage>
}

export const KeysCard = ({ title, owner, read }: KeysCardProps) => {
  const { keys: texts } = useOperatorTexts()
  const keys = usePages((cursor) => read(pageQuery({}, cursor)), [owner])
  return (
    <Card title={title}>
      <RowList
        pages={keys}
        none={texts.none}
        hint={texts.noneText}
        row={(key) => <KeyRow key={key.key_id} entry={key} />}
      />
    </Card>
  )
}
