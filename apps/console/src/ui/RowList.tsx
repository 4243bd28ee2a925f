/**
 * A list that grows by pages, with what to say while it is loaded and when it is empty.
 */
import type { ComponentChildren } from "preact"
import { Empty, Loading } from "./Notices.tsx"
import { More, type Pages } from "./Pages.tsx"

interface RowListProps<A> {
  readonly pages: Pages<A>
  readonly row: (item: A) => ComponentChildren
  /** What an empty list means, and below it what to do next. */
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
