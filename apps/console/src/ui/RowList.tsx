/**
 * A list that grows by pages, with messages for a list that is being loaded or is empty.
 */
import type { ComponentChildren } from "preact"
import { Empty, Loading } from "./Notices.tsx"
import { More, type Pages } from "./Pages.tsx"

interface RowListProps<A> {
  readonly pages: Pages<A>
  readonly row: (item: A, index: number) => ComponentChildren
  /** The message of an empty list. `hint` states the next step below the message. */
  readonly none: string
  readonly hint?: string
}

export const RowList = <A,>({ pages, row, none, hint }: RowListProps<A>) => (
  <>
    {pages.loading && pages.items.length === 0 && <Loading problem={undefined} retry={pages.more} />}
    {pages.cursor === null && pages.items.length === 0 && (
      <Empty title={none}>{hint !== undefined && <p>{hint}</p>}</Empty>
    )}
    {pages.items.length > 0 && <ul class="rows">{pages.items.map(row)}</ul>}
    <More pages={pages} />
  </>
)
