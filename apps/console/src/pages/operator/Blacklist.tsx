/**
 * The emails and domains that cannot sign up as resellers.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useAction } from "../../api/Loaded.ts"
import { pageQuery } from "../../api/Operator.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { pathOf } from "../../routes/Routes.ts"
import { Field, Form, Submit } from "../../ui/Forms.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { usePages } from "../../ui/Pages.tsx"
import { RowList } from "../../ui/RowList.tsx"
import { useDecision } from "./Decision.tsx"
import { OperatorProblem } from "./Problems.tsx"

const AddPattern = ({ onAdded }: { readonly onAdded: () => void }) => {
  const { blacklist: texts } = useOperatorTexts()
  const [pattern, setPattern] = useState("")
  const add = useAction(async () => {
    await bodyOf(api.POST("/api/operator/blacklist", { body: { pattern: pattern.trim() } }))
    setPattern("")
    onAdded()
  })
  const hasIssue = add.problem?.issueOf("pattern") !== undefined
  return (
    <Card title={texts.add}>
      <Form onSubmit={() => add.run()}>
        <Field
          label={texts.pattern}
          hint={texts.patternHint}
          error={hasIssue ? texts.patternIssue : undefined}
          name="pattern"
          autocomplete="off"
          spellcheck={false}
          required
          maxLength={254}
          value={pattern}
          onInput={setPattern}
        />
        {!hasIssue && <OperatorProblem problem={add.problem} />}
        <Submit running={add.running}>{texts.add}</Submit>
      </Form>
    </Card>
  )
}

export const Blacklist = () => {
  const { shell } = useTexts()
  const { blacklist: texts } = useOperatorTexts()
  const format = useFormat()
  const [round, setRound] = useState(0)
  const again = () => setRound((count) => count + 1)
  const { ask, dialog } = useDecision(again)
  const list = usePages(
    (cursor) => bodyOf(api.GET("/api/operator/blacklist", { params: { query: pageQuery({}, cursor) } })),
    [round]
  )
  const remove = (pattern: string) =>
    ask({
      title: texts.removeQuestion(pattern),
      text: texts.removeText,
      confirm: texts.remove,
      reason: "optional",
      send: (reason) => {
        const body = reason === undefined ? { pattern } : { pattern, reason }
        return bodyOf(api.POST("/api/operator/blacklist/remove", { body }))
      }
    })
  return (
    <Page
      title={texts.title}
      intro={texts.intro}
      back={{ path: pathOf("operatorResellers"), text: shell.pages.operatorResellers }}
    >
      <div class="columns">
        <Card title={texts.list}>
          <RowList
            pages={list}
            none={texts.none}
            hint={texts.noneText}
            row={(entry) => (
              <li class="row" key={entry.pattern}>
                <span class="row-main">
                  <span dir="auto">{entry.pattern}</span>
                  <small>{texts.added(format.time(entry.created_at))}</small>
                </span>
                <button type="button" class="button small" onClick={() => remove(entry.pattern)}>
                  {texts.remove}
                  <span class="unseen"> {entry.pattern}</span>
                </button>
              </li>
            )}
          />
        </Card>
        <AddPattern onAdded={again} />
      </div>
      {dialog}
    </Page>
  )
}
