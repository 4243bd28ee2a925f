/**
 * The mints of the reseller, newest first.
 */
import { api, bodyOf } from "../../api/Client.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { customerPath } from "../../routes/Routes.ts"
import { Download } from "../../ui/Download.tsx"
import { Card } from "../../ui/Page.tsx"
import { usePages } from "../../ui/Pages.tsx"
import { RowList } from "../../ui/RowList.tsx"

const PAGE_SIZE = 10

/** The list is read again when `round` changes. Each mint changes it. */
export const MintHistory = ({ round }: { readonly round: string }) => {
  const { mint } = useTexts()
  const format = useFormat()
  const mints = usePages(
    (cursor) => {
      const query = cursor === undefined ? { limit: PAGE_SIZE } : { limit: PAGE_SIZE, cursor }
      return bodyOf(api.GET("/api/reseller/mints", { params: { query } }))
    },
    [round]
  )
  return (
    <Card title={mint.history} aside={<Download path="/api/reseller/mints.csv" />}>
      <RowList
        pages={mints}
        none={mint.noHistory}
        hint={mint.noHistoryText}
        row={(entry) => (
          <li key={entry.operation_id}>
            <a class="row" href={customerPath(entry.customer_user_id)}>
              <span class="row-main">
                <span dir="auto">{entry.customer_email}</span>
                <small>
                  <span dir="auto">{entry.model_name}</span> · {mint.tokens(format.count(entry.granted_tokens))}
                  <br />
                  {format.time(entry.minted_at)}
                </small>
              </span>
              <span class="row-side">
                <span class="money">{format.usd(entry.price_usd_micro)}</span>
                <small>{mint.quotaThen(format.usd(entry.balance_after))}</small>
              </span>
            </a>
          </li>
        )}
      />
    </Card>
  )
}
