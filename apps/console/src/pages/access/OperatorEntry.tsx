/**
 * Opens the session of an operator with the one-time code of the link that `tollgate console` prints. The code is in
 * the fragment of the link, which browsers do not send to servers. The page removes the code from the address
 * immediately.
 */
import { useEffect } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useAction } from "../../api/Loaded.ts"
import { useTexts } from "../../i18n/Language.ts"
import { closeSession, openSession } from "../../state/Session.ts"
import { Copy } from "../../ui/Copy.tsx"
import { Notice, ProblemNotice } from "../../ui/Notices.tsx"
import { Page } from "../../ui/Page.tsx"

const PREFIX = "#code="

export const hasCode = (): boolean => location.hash.startsWith(PREFIX)

const COMMAND = "npm run -s tollgate -- console"

export const OperatorEntry = () => {
  const { operator } = useTexts()
  const enter = useAction(async (code: string, isCurrent) => {
    closeSession("expired")
    const { token, session } = await bodyOf(api.POST("/api/operator/session", { body: { code } }))
    if (isCurrent()) openSession({ kind: "operator", token, actor: session.actor })
  })
  useEffect(() => {
    const redeem = () => {
      if (!hasCode()) return
      const code = location.hash.slice(PREFIX.length)
      history.replaceState(null, "", location.pathname)
      // If the code of an earlier link is still being redeemed, its session is not opened.
      enter.forget()
      enter.run(code)
    }
    redeem()
    // A link that is opened while this page is shown changes only the fragment, so the browser loads no new page.
    addEventListener("hashchange", redeem)
    return () => removeEventListener("hashchange", redeem)
  }, [])
  return (
    <Page title={operator.entry} narrow>
      <div class="card stack">
        {enter.running ? (
          <Notice kind="info">{operator.entering}</Notice>
        ) : (
          <>
            <p>{operator.entryText}</p>
            <Copy text={COMMAND} label={operator.command} />
          </>
        )}
        <ProblemNotice problem={enter.problem} />
      </div>
    </Page>
  )
}
