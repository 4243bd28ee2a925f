/**
 * Logs a reseller in. The page also states that the last session has ended, and the options of a suspended or rejected
 * reseller.
 */
import { useStore } from "@nanostores/preact"
import { api, bodyOf } from "../../api/Client.ts"
import { useAction } from "../../api/Loaded.ts"
import { Problem } from "../../api/Problem.ts"
import { inactiveStatusOf } from "../../api/ResellerStatus.ts"
import { useTexts } from "../../i18n/Language.ts"
import { go, pathOf } from "../../routes/Routes.ts"
import { $waiting, type Credentials } from "../../state/ReturnPath.ts"
import { $sessionEnd, openSession } from "../../state/Session.ts"
import { Field, Form, Submit } from "../../ui/Forms.tsx"
import { Notice, ProblemNotice } from "../../ui/Notices.tsx"
import { Page } from "../../ui/Page.tsx"

/** Opens a session if the page is still shown, or throws the refusal. */
export const logIn = async (credentials: Credentials, isCurrent: () => boolean): Promise<void> => {
  const { token, reseller } = await bodyOf(api.POST("/api/reseller/auth/login", { body: { ...credentials } }))
  if (!isCurrent()) return
  openSession({ kind: "reseller", token, reseller: { id: reseller.id, email: reseller.email, name: reseller.name } })
}

export const LogIn = () => {
  const { access } = useTexts()
  const ended = useStore($sessionEnd)
  const action = useAction(async ({ email = "", password = "" }: Readonly<Record<string, string>>, isCurrent) => {
    try {
      await logIn({ email, password }, isCurrent)
    } catch (error) {
      if (!isCurrent() || !(error instanceof Problem) || inactiveStatusOf(error) !== "pending") throw error
      $waiting.set({ email, password })
      go(pathOf("waiting"))
    }
  })
  const status = inactiveStatusOf(action.problem)
  return (
    <Page title={access.logIn} narrow>
      {ended === "reseller" && action.problem === undefined && (
        <Notice kind="info" title={access.sessionEnded}>
          {access.sessionEndedText}
        </Notice>
      )}
      {(status === "suspended" || status === "rejected") && (
        <Notice kind="warn" title={access[status]}>
          {access.notActiveText}
        </Notice>
      )}
      <Form onSubmit={action.run} class="form card">
        <Field label={access.email} name="email" type="email" autocomplete="username" required />
        <Field label={access.password} name="password" type="password" autocomplete="current-password" required />
        {status === undefined && <ProblemNotice problem={action.problem} />}
        <Submit running={action.running}>{access.logIn}</Submit>
        <p class="small">
          {access.noAccount} <a href={pathOf("signUp")}>{access.signUp}</a>
        </p>
        <p class="small">{access.forgotten}</p>
      </Form>
    </Page>
  )
}
