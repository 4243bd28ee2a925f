/**
 * The stored catalog: models with their prices and plans, and providers.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useLoaded } from "../../api/Loaded.ts"
import type { Catalog as StoredCatalog } from "../../api/Operator.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { pathOf } from "../../routes/Routes.ts"
import { Empty } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { ApplyCatalog } from "./ApplyCatalog.tsx"
import { LoadingPage } from "./LoadingPage.tsx"
import { OperatorProblem } from "./Problems.tsx"

type Model = StoredCatalog["models"][number]

const stateOf = (model: Model): "listed" | "hidden" | "retired" =>
  model.retired ? "retired" : model.hidden ? "hidden" : "listed"

const badges = { listed: "good", hidden: "", retired: "warn" } as const

const Models = ({ models }: { readonly models: ReadonlyArray<Model> }) => {
  const { catalog: texts } = useOperatorTexts()
  const format = useFormat()
  const prices = [
    ["input", texts.input],
    ["cache_read", texts.cacheRead],
    ["cache_write", texts.cacheWrite],
    ["output", texts.output]
  ] as const
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be focusable
    <section class="scroll" tabIndex={0} aria-label={texts.models}>
      <table class="table">
        <caption class="small muted">{texts.perMillion}</caption>
        <thead>
          <tr>
            <th scope="col">{texts.model}</th>
            {prices.map(([name, shown]) => (
              <th key={name} scope="col" class="number">
                {shown}
              </th>
            ))}
            <th scope="col">{texts.state}</th>
          </tr>
        </thead>
        <tbody>
          {models.map((model) => (
            <tr key={model.model_id}>
              <th scope="row">
                <span dir="auto">{model.public_name}</span>
                <br />
                <small class="muted">
                  {texts.routes(model.routes.map(({ provider }) => provider).join(", ") || "–")}
                </small>
              </th>
              {prices.map(([name]) => (
                <td key={name} class="number">
                  {format.usd(model.price_usd_micro_per_million_tokens[name])}
                </td>
              ))}
              <td>
                <span class={`badge ${badges[stateOf(model)]}`}>{texts.states[stateOf(model)]}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const CENT_USD_MICRO = 10_000

const Tiers = ({ models }: { readonly models: ReadonlyArray<Model> }) => {
  const { catalog: texts } = useOperatorTexts()
  const format = useFormat()
  const tiers = models.flatMap((model) => model.tiers.map((tier) => ({ ...tier, model: model.public_name })))
  if (tiers.length === 0) return <Empty title={texts.noTiers} />
  return (
    <ul class="rows">
      {tiers.map((tier) => (
        <li class="row" key={tier.plan_tier_id}>
          <span class="row-main">
            <span dir="auto">{tier.model}</span>
            <small>{texts.tier(format.count(tier.granted_tokens))}</small>
          </span>
          <span class="row-side">
            <span class="money">{format.usd(tier.tier_usd_cents * CENT_USD_MICRO)}</span>
            {!tier.for_sale && <small>{texts.notForSale}</small>}
          </span>
        </li>
      ))}
    </ul>
  )
}

const Providers = ({ providers }: Pick<StoredCatalog, "providers">) => (
  <ul class="rows">
    {providers.map((provider) => (
      <li class="row" key={provider.name}>
        <span class="row-main">
          <span dir="auto">{provider.name}</span>
          <small>
            <span dir="auto">{provider.base_url}</span>
            <br />
            <code>{provider.api_key_env}</code> · {provider.protocols.join(", ")}
          </small>
        </span>
      </li>
    ))}
  </ul>
)

/** Offers the catalog as a file, which `tollgate catalog apply` and this page accept. */
const save = (catalog: StoredCatalog): void => {
  const url = URL.createObjectURL(new Blob([JSON.stringify(catalog, null, 2)], { type: "application/json" }))
  const link = document.createElement("a")
  link.href = url
  link.download = "catalog.json"
  link.click()
  URL.revokeObjectURL(url)
}

export const Catalog = () => {
  const { shell } = useTexts()
  const { catalog: texts } = useOperatorTexts()
  const format = useFormat()
  const [round, setRound] = useState(0)
  const catalog = useLoaded((signal) => bodyOf(api.GET("/api/operator/catalog", { signal })), [round])
  const back = { path: pathOf("operatorService"), text: shell.pages.operatorService }
  const { data } = catalog
  if (data === undefined) return <LoadingPage title={texts.title} back={back} loaded={catalog} />
  const download = (
    <button type="button" class="button" onClick={() => save(data)}>
      {texts.download}
    </button>
  )
  return (
    <Page title={texts.title} intro={texts.version(format.count(data.version))} back={back} actions={download}>
      <OperatorProblem problem={catalog.problem} retry={catalog.reload} />
      <Card title={texts.models}>
        {data.models.length === 0 ? (
          <Empty title={texts.none}>
            <p>{texts.noneText}</p>
          </Empty>
        ) : (
          <Models models={data.models} />
        )}
      </Card>
      <ApplyCatalog onChanged={() => setRound((count) => count + 1)} />
      <div class="columns">
        <Card title={texts.tiers}>
          <Tiers models={data.models} />
        </Card>
        <Card title={texts.providers}>
          <Providers providers={data.providers} />
        </Card>
      </div>
    </Page>
  )
}
