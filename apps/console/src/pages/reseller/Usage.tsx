/**
 * The settled usage of the reseller's customers: daily sums as a chart, the requests, filters, and CSV.
 */
import { useStore } from "@nanostores/preact"
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useLoaded } from "../../api/Loaded.ts"
import { readCustomers, readSoldModels } from "../../api/Reseller.ts"
import { jakartaDay } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { $router } from "../../routes/Routes.ts"
import { DailyUsageCard } from "../../ui/DailyUsageCard.tsx"
import { Download } from "../../ui/Download.tsx"
import { Field, Select } from "../../ui/Forms.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { usePages } from "../../ui/Pages.tsx"
import { RowList } from "../../ui/RowList.tsx"
import { UsageRow } from "../../ui/UsageRow.tsx"

interface Filter {
  readonly from: string
  readonly to: string
  readonly model: string
  readonly customer: string
}

const DAYS_SHOWN = 30

/** Returns the members of the filter that select something. */
const queryOf = (filter: Filter): Partial<Filter> =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ""))

interface FiltersProps {
  readonly filter: Filter
  readonly onChange: (filter: Filter) => void
}

const Filters = ({ filter, onChange }: FiltersProps) => {
  const { usage } = useTexts()
  const customers = useLoaded(readCustomers, [])
  const sold = useLoaded(readSoldModels, [])
  const models = [...new Set([...(sold.data ?? []), filter.model])]
  const today = jakartaDay()
  return (
    <div class="filters">
      <Field
        label={usage.from}
        type="date"
        max={filter.to}
        required
        value={filter.from}
        onInput={(from) => from !== "" && onChange({ ...filter, from })}
      />
      <Field
        label={usage.to}
        type="date"
        min={filter.from}
        max={today}
        required
        value={filter.to}
        onInput={(to) => to !== "" && onChange({ ...filter, to })}
      />
      <Select
        label={usage.model}
        value={filter.model}
        onSelect={(model) => onChange({ ...filter, model })}
        options={[
          ["", usage.allModels],
          ...models.filter((model) => model !== "").map((model) => [model, model] as const)
        ]}
      />
      <Select
        label={usage.customer}
        value={filter.customer}
        onSelect={(customer) => onChange({ ...filter, customer })}
        options={[
          ["", usage.allCustomers],
          ...(customers.data ?? []).map(({ user_id, email }) => [user_id, email] as const)
        ]}
      />
    </div>
  )
}

const Items = ({ filter }: { readonly filter: Filter }) => {
  const { usage: texts } = useTexts()
  const customers = useLoaded(readCustomers, [])
  const emails = new Map(customers.data?.map(({ user_id, email }) => [user_id, email]))
  const items = usePages(
    (cursor) => {
      const query = cursor === undefined ? queryOf(filter) : { ...queryOf(filter), cursor }
      return bodyOf(api.GET("/api/reseller/usage", { params: { query } }))
    },
    [filter]
  )
  return (
    <Card title={texts.items} aside={<Download path="/api/reseller/usage.csv" query={{ ...filter }} />}>
      <RowList
        pages={items}
        none={texts.none}
        // An item has no id. Its index is a stable key, because the list only grows at its end.
        row={(item, i) => <UsageRow key={i} item={item} customer={emails.get(item.user_id) ?? item.user_id} />}
      />
    </Card>
  )
}

export const Usage = () => {
  const { usage: texts, shell } = useTexts()
  const search = useStore($router)?.search ?? {}
  const [filter, setFilter] = useState<Filter>({
    from: jakartaDay(DAYS_SHOWN - 1),
    to: jakartaDay(),
    model: "",
    customer: search.customer ?? ""
  })
  const daily = useLoaded(
    (signal) => bodyOf(api.GET("/api/reseller/usage/daily", { params: { query: queryOf(filter) }, signal })),
    [filter]
  )
  return (
    <Page title={shell.pages.usage} intro={texts.intro}>
      <Filters filter={filter} onChange={setFilter} />
      <DailyUsageCard title={texts.perDay} usage={daily}>
        <p>{texts.noneText}</p>
      </DailyUsageCard>
      <Items filter={filter} />
    </Page>
  )
}
