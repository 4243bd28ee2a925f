/**
 * A list with a search by text and a filter by status above it. The search starts when the operator submits the form. A
 * selected filter takes effect immediately.
 */
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { pageQuery } from "../../api/Operator.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { Field, Form, Select } from "../../ui/Forms.tsx"
import { Card } from "../../ui/Page.tsx"
import { type CursorPage, usePages } from "../../ui/Pages.tsx"
import { RowList } from "../../ui/RowList.tsx"

interface Query<Status> {
  readonly search?: string
  readonly status?: Status
  readonly cursor?: string
}

interface SearchListProps<A, Status extends string> {
  readonly texts: {
    readonly list: string
    readonly searchHint: string
    readonly none: string
    readonly noneText: string
    readonly statuses: { readonly [S in Status]: string }
  }
  readonly statuses: ReadonlyArray<Status>
  /** The status that the filter has at first. */
  readonly status?: string | undefined
  readonly read: (query: Query<Status>) => Promise<CursorPage<A>>
  readonly row: (item: A) => ComponentChildren
}

export const SearchList = <A, Status extends string>(props: SearchListProps<A, Status>) => {
  const { texts, statuses, read, row } = props
  const { filters } = useOperatorTexts()
  const [filter, setFilter] = useState({ search: "", status: props.status ?? "" })
  const list = usePages((cursor) => read(pageQuery(filter as { search: string; status: Status }, cursor)), [filter])
  return (
    <Card title={texts.list}>
      <Form onSubmit={({ search = "" }) => setFilter({ ...filter, search })}>
        <div class="filters">
          <Field
            label={filters.search}
            hint={texts.searchHint}
            name="search"
            type="search"
            autocomplete="off"
            maxLength={254}
          />
          <Select
            label={filters.status}
            value={filter.status}
            onSelect={(status) => setFilter({ ...filter, status })}
            options={[["", filters.all], ...statuses.map((status) => [status, texts.statuses[status]] as const)]}
          />
        </div>
        <p class="actions">
          <button type="submit" class="button">
            {filters.apply}
          </button>
        </p>
      </Form>
      <RowList pages={list} none={texts.none} hint={texts.noneText} row={row} />
    </Card>
  )
}
