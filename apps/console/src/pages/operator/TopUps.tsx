/**
 * The top-up orders of all resellers, newest first, with filters, and the refresh of all open orders.
 */
import { useStore } from "@nanostores/preact"
import { useState } from "preact/hooks"
import { api, bodyOf, slowApi } from "../../api/Client.ts"
import { useAction } from "../../api/Loaded.ts"
import { type OperatorTopUp, pageQuery } from "../../api/Operator.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { $router, operatorPath } from "../../routes/Routes.ts"
import { Field, Form, Select, Submit } from "../../ui/Forms.tsx"
import { Notice } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { usePages } from "../../ui/Pages.tsx"
import { RowList } from "../../ui/RowList.tsx"
import { AnomalyBadges, StatusBadge } from "./OrderBadges.tsx"
import { OperatorProblem } from "./Problems.tsx"

const statuses = ["pending", "crediting", "credited", "expired", "failed"] as const

interface Filter {
  readonly status: string
  readonly flagged: string
  readonly reseller: string
}

type Query = { readonly status: OperatorTopUp["status"]; readonly flagged: "true"; readonly reseller: string }

const Filters = ({ filter, onChange }: { readonly filter: Filter; readonly onChange: (filter: Filter) => void }) => {
  const { filters, topUps: texts } = useOperatorTexts()
  return (
    <Form onSubmit={({ reseller = "" }) => onChange({ ...filter, reseller })}>
      <div class="filters">
        <Select
          label={filters.status}
          value={filter.status}
          onSelect={(status) => onChange({ ...filter, status })}
          options={[["", filters.all], ...statuses.map((status) => [status, texts.statuses[status]] as const)]}
        />
        <Select
          label={texts.flagged}
          value={filter.flagged}
          onSelect={(flagged) => onChange({ ...filter, flagged })}
          options={[
            ["", filters.all],
            ["true", texts.onlyFlagged]
          ]}
        />
        <Field
          label={texts.ofReseller}
          hint={texts.ofResellerHint}
          name="reseller"
          autocomplete="off"
          defaultValue={filter.reseller}
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

interface Counts {
  readonly attempted: number
  readonly refreshed: number
  readonly credited: number
  readonly without_provider: number
}

const RefreshAll = ({ onRefreshed }: { readonly onRefreshed: () => void }) => {
  const { topUps: texts } = useOperatorTexts()
  const format = useFormat()
  const [counts, setCounts] = useState<Counts>()
  const refresh = useAction(async () => {
    setCounts(undefined)
    setCounts(await bodyOf(slowApi.POST("/api/operator/topups/refresh")))
    onRefreshed()
  })
  return (
    <Card title={texts.refreshAll}>
      <Form onSubmit={() => refresh.run()}>
        <p class="muted">{texts.refreshAllText}</p>
        {counts !== undefined && (
          <Notice kind={counts.refreshed === counts.attempted && counts.without_provider === 0 ? "good" : "warn"}>
            <p>{texts.refreshed(format.count(counts.refreshed), format.count(counts.attempted))}</p>
            <p>{texts.credited(format.count(counts.credited))}</p>
            {counts.without_provider > 0 && <p>{texts.withoutProvider(format.count(counts.without_provider))}</p>}
          </Notice>
        )}
        <OperatorProblem problem={refresh.problem} />
        <Submit running={refresh.running}>{texts.refreshAll}</Submit>
      </Form>
    </Card>
  )
}

export const TopUps = () => {
  const { shell, topUps } = useTexts()
  const { topUps: texts } = useOperatorTexts()
  const format = useFormat()
  const asked = useStore($router)?.search ?? {}
  const [filter, setFilter] = useState<Filter>({
    status: "",
    flagged: asked.flagged ?? "",
    reseller: asked.reseller ?? ""
  })
  const [round, setRound] = useState(0)
  const list = usePages(
    (cursor) =>
      bodyOf(api.GET("/api/operator/topups", { params: { query: pageQuery({ ...filter } as Query, cursor) } })),
    [filter, round]
  )
  return (
    <Page title={shell.pages.operatorTopUps}>
      <Card title={texts.list}>
        <Filters filter={filter} onChange={setFilter} />
        <RowList
          pages={list}
          none={texts.none}
          hint={texts.noneText}
          row={(order) => (
            <li key={order.id}>
              <a class="row" href={operatorPath("operatorTopUp", order.id)}>
                <span class="row-main">
                  <span class="money">{format.usd(order.quota_usd_micro)}</span>
                  <small>
                    <span dir="auto">{order.reseller_email}</span>
                    <br />
                    {topUps.methods[order.payment_method]} · {format.time(order.created_at)}
                  </small>
                </span>
                <span class="row-side">
                  <StatusBadge order={order} />
                  <AnomalyBadges order={order} />
                </span>
              </a>
            </li>
          )}
        />
      </Card>
      <RefreshAll onRefreshed={() => setRound((count) => count + 1)} />
    </Page>
  )
}
