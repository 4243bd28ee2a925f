/**
 * A search by text and a filter by status, above a list. The search starts when the form is submitted, and the filter
 * at once.
 */
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { Field, Form, Select } from "../../ui/Forms.tsx"

export interface ListFilter {
  readonly search: string
  readonly status: string
}

interface SearchFormProps {
  readonly hint: string
  readonly statuses: ReadonlyArray<readonly [status: string, shown: string]>
  readonly filter: ListFilter
  readonly onChange: (filter: ListFilter) => void
}

export const SearchForm = ({ hint, statuses, filter, onChange }: SearchFormProps) => {
  const { filters } = useOperatorTexts()
  return (
    <Form onSubmit={({ search = "" }) => onChange({ ...filter, search })}>
      <div class="filters">
        <Field label={filters.search} hint={hint} name="search" type="search" autocomplete="off" maxLength={254} />
        <Select
          label={filters.status}
          value={filter.status}
          onSelect={(status) => onChange({ ...filter, status })}
          options={[["", filters.all], ...statuses]}
        />
      </div>
      <p class="actions">
        <button type="submit" class="button">
          {filters.apply}
        </button>
      </p>
    </Form>
  )
}
