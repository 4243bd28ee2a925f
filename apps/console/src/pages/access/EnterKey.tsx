/**
 * Opens the session of a customer with an API key. The console stores the key only for this tab.
 */
import { useStore } from "@nanostores/preact"
import { api, bodyOf } from "../../api/Client.ts"
import { useAction } from "../../api/Loaded.ts"
import { useTexts } from "../../i18n/Language.ts"
import { $sessionEnd, openSession } from "../../state/Session.ts"
import { Field, Form, Submit } from "../../ui/Forms.tsx"
import { Notice, ProblemNotice } from "../../ui/Notices.tsx"
import { Page } from "../../ui/Page.tsx"

/**
 * Matches visible ASCII characters, of which an API key consists. The browser would refuse to send a header with some
 * of the other characters.
 */
const KEY = /^[\x21-\x7e]+$/

export const EnterKey = () => {
  const { access } = useTexts()
  const ended = useStore($sessionEnd)
  const enter = useAction(async ({ key = "" }: Readonly<Record<string, string>>, isCurrent) => {
    const shown = KEY.test(key) ? key : "malformed"
    await bodyOf(api.GET("/v1/balance", { headers: { authorization: `Bearer ${shown}` } }))
    if (isCurrent()) openSession({ kind: "customer", key })
  })
  return (
    <Page title={access.enterKey} intro={access.enterKeyIntro} narrow>
      {ended === "customer" && enter.problem === undefined && (
        <Notice kind="info" title={access.sessionEnded}>
          {access.keyEndedText}
        </Notice>
      )}
      <Form onSubmit={enter.run} class="form card">
        <Field
          label={access.key}
          hint={access.keyHint}
          name="key"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
        />
        <ProblemNotice problem={enter.problem} />
        <Submit running={enter.running}>{access.showBalance}</Submit>
      </Form>
    </Page>
  )
}
