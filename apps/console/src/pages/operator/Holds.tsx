/**
 * Shows the open requests with their holds, oldest first, and starts the sweep that settles the requests of dead nodes.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { pageQuery } from "../../api/Operator.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { pathOf } from "../../routes/Routes.ts"
import { Notice } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { usePages } from "../../ui/Pages.tsx"
import { RowList } from "../../ui/RowList.tsx"
import { useDecision } from "./Decision.tsx"

export const Holds = () => {
  const { shell } = useTexts()
  const { holds: texts } = useOperatorTexts()
  const format = useFormat()
  const [round, setRound] = useState(0)
  const [swept, setSwept] = useState<number>()
  const { ask, dialog } = useDecision(() => setRound((count) => count + 1))
  const holds = usePages(
    (cursor) => bodyOf(api.GET("/api/operator/holds", { params: { query: pageQuery({}, cursor) } })),
    [round]
  )
  const sweep = () => {
    setSwept(undefined)
    ask({
      title: texts.sweep,
      text: texts.sweepText,
      confirm: texts.sweep,
      send: async () => setSwept((await bodyOf(api.POST("/api/operator/holds/sweep"))).swept)
    })
  }
  return (
    <Page
      title={texts.title}
      intro={texts.intro}
      back={{ path: pathOf("operatorService"), text: shell.pages.operatorService }}
      actions={
        <button type="button" class="button" onClick={sweep}>
          {texts.sweep}
        </button>
      }
    >
      {swept !== undefined && <Notice kind="good">{texts.swept(format.count(swept))}</Notice>}
      <Card title={texts.list}>
        <RowList
          pages={holds}
          none={texts.none}
          row={(hold) => (
            <li class="row" key={hold.request_id}>
              <span class="row-main">
                <span dir="auto">{hold.email}</span>
                <small>
                  <span dir="auto">{hold.model}</span> · {texts.since(format.time(hold.held_at))}
                  <br />
                  {texts.delivered(
                    format.count(hold.delivered_input_tokens),
                    format.count(hold.delivered_output_tokens)
                  )}
                </small>
              </span>
              <span class="row-side">
                <span class="money">{format.cost(hold.payg_usd_micro)}</span>
                {hold.plan_tokens > 0 && <small>{texts.tokens(format.count(hold.plan_tokens))}</small>}
                {hold.orphaned && <span class="badge bad">{texts.orphaned}</span>}
              </span>
            </li>
          )}
        />
      </Card>
      {dialog}
    </Page>
  )
}
