/**
 * Lists the sessions of all operators. The gateway deletes sessions that are older than a week when a new one is
 * created. The operator can end any session that is open or waiting, after a confirmation.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useLoaded } from "../../api/Loaded.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { pathOf } from "../../routes/Routes.ts"
import { Card, Page } from "../../ui/Page.tsx"
import { useDecision } from "./Decision.tsx"
import { LoadingPage } from "./LoadingPage.tsx"
import { OperatorProblem } from "./Problems.tsx"

const badges = { waiting: "info", open: "good", ended: "", expired: "" } as const

export const Sessions = () => {
  const { shell } = useTexts()
  const { sessions: texts } = useOperatorTexts()
  const format = useFormat()
  const [round, setRound] = useState(0)
  const { ask, dialog } = useDecision(() => setRound((count) => count + 1))
  const sessions = useLoaded((signal) => bodyOf(api.GET("/api/operator/sessions", { signal })), [round])
  const back = { path: pathOf("operatorService"), text: shell.pages.operatorService }
  if (sessions.data === undefined) return <LoadingPage title={texts.title} back={back} loaded={sessions} />
  const end = (id: string, actor: string) =>
    ask({
      title: texts.endQuestion(actor),
      text: texts.endText,
      confirm: texts.end,
      reason: "optional",
      send: (reason) => {
        const body = reason === undefined ? {} : { reason }
        return bodyOf(api.POST("/api/operator/sessions/{sessionID}/end", { params: { path: { sessionID: id } }, body }))
      }
    })
  return (
    <Page title={texts.title} intro={texts.intro} back={back}>
      <OperatorProblem problem={sessions.problem} retry={sessions.reload} />
      <Card title={texts.list}>
        <ul class="rows">
          {sessions.data.sessions.map((session) => (
            <li class="row" key={session.id}>
              <span class="row-main">
                <span dir="auto">{session.actor}</span>
                <small>
                  {texts.created(format.time(session.created_at))}
                  {session.used_at !== null && (
                    <>
                      <br />
                      {texts.used(format.time(session.used_at))}
                    </>
                  )}
                </small>
              </span>
              <span class="row-side">
                <span class={`badge ${badges[session.state]}`}>
                  {session.current ? texts.current : texts.states[session.state]}
                </span>
                {(session.state === "open" || session.state === "waiting") && (
                  <button type="button" class="button small" onClick={() => end(session.id, session.actor)}>
                    {texts.end}
                    <span class="unseen"> {session.actor}</span>
                  </button>
                )}
              </span>
            </li>
          ))}
        </ul>
      </Card>
      {dialog}
    </Page>
  )
}
