/**
 * The nodes, and the providers as the node that responds sees them.
 */
import { api, bodyOf } from "../../api/Client.ts"
import { useLoaded } from "../../api/Loaded.ts"
import { pageQuery } from "../../api/Operator.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { pathOf } from "../../routes/Routes.ts"
import { Empty, Loading } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { usePages } from "../../ui/Pages.tsx"
import { RowList } from "../../ui/RowList.tsx"

const nodeBadges = { alive: "good", dead: "bad", left: "" } as const
const breakerBadges = { closed: "good", open: "bad", half_open: "warn" } as const

const Providers = () => {
  const { nodes: texts } = useOperatorTexts()
  const format = useFormat()
  const state = useLoaded((signal) => bodyOf(api.GET("/api/operator/providers", { signal })), [])
  if (state.data === undefined) return <Loading problem={state.problem} retry={state.reload} />
  const { node_id, providers } = state.data
  if (providers.length === 0) return <Empty title={texts.noProviders} />
  return (
    <>
      <p class="small muted">
        {texts.seenBy}: <code>{node_id}</code>
      </p>
      <ul class="rows">
        {providers.map(({ name, breaker, open_exchanges }) => (
          <li class="row" key={name}>
            <span class="row-main">
              <span dir="auto">{name}</span>
              <small>{texts.open(format.count(open_exchanges))}</small>
            </span>
            <span class={`badge ${breakerBadges[breaker]}`}>{texts.breakers[breaker]}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

export const Nodes = () => {
  const { shell } = useTexts()
  const { nodes: texts } = useOperatorTexts()
  const format = useFormat()
  const nodes = usePages(
    (cursor) => bodyOf(api.GET("/api/operator/nodes", { params: { query: pageQuery({}, cursor) } })),
    []
  )
  return (
    <Page title={texts.title} back={{ path: pathOf("operatorService"), text: shell.pages.operatorService }}>
      <div class="columns">
        <Card title={texts.list}>
          <RowList
            pages={nodes}
            none={texts.none}
            row={(node) => (
              <li class="row" key={node.node_id}>
                <span class="row-main">
                  <code>{node.node_id}</code>
                  <small>
                    {texts.started(format.time(node.started_at))}
                    <br />
                    {texts.beat(format.time(node.beat_at))}
                    <br />
                    {texts.open(format.count(node.open_requests))}
                    <br />
                    {texts.schema(node.last_migration)}
                  </small>
                </span>
                <span class={`badge ${nodeBadges[node.state]}`}>{texts.states[node.state]}</span>
              </li>
            )}
          />
        </Card>
        <Card title={texts.providers}>
          <Providers />
        </Card>
      </div>
    </Page>
  )
}
