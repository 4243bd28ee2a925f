/**
 * All resellers, newest first, with a search and a filter.
 */
import { useStore } from "@nanostores/preact"
import { api, bodyOf } from "../../api/Client.ts"
import type { Reseller } from "../../api/Operator.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { $router, operatorPath, pathOf } from "../../routes/Routes.ts"
import { Page } from "../../ui/Page.tsx"
import { SearchList } from "./SearchList.tsx"

const statuses = ["pending", "active", "suspended", "rejected"] as const
type Status = (typeof statuses)[number]

const badges: { readonly [S in Status]: string } = { pending: "warn", active: "good", suspended: "bad", rejected: "" }

export const ResellerBadge = ({ status }: Pick<Reseller, "status">) => {
  const { resellers } = useOperatorTexts()
  return <span class={`badge ${badges[status]}`}>{resellers.statuses[status]}</span>
}

export const Resellers = () => {
  const { shell } = useTexts()
  const { blacklist, resellers: texts } = useOperatorTexts()
  const format = useFormat()
  const asked = useStore($router)?.search.status
  const toBlacklist = (
    <a class="button" href={pathOf("operatorBlacklist")}>
      {blacklist.title}
    </a>
  )
  return (
    <Page title={shell.pages.operatorResellers} actions={toBlacklist}>
      <SearchList
        texts={texts}
        statuses={statuses}
        status={asked}
        read={(query) => bodyOf(api.GET("/api/operator/resellers", { params: { query } }))}
        row={(reseller) => (
          <li key={reseller.id}>
            <a class="row" href={operatorPath("operatorReseller", reseller.id)}>
              <span class="row-main">
                <span dir="auto">{reseller.name}</span>
                <small>
                  <span dir="auto">{reseller.email}</span>
                  <br />
                  {format.time(reseller.created_at)}
                </small>
              </span>
              <ResellerBadge status={reseller.status} />
            </a>
          </li>
        )}
      />
    </Page>
  )
}
