/**
 * The account of the reseller: password, files for the bookkeeping, and the end of the session.
 */
import { useStore } from "@nanostores/preact"
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useAction } from "../../api/Loaded.ts"
import { useTexts } from "../../i18n/Language.ts"
import { $session, closeSession, endSession, type ResellerSession, renewSession } from "../../state/Session.ts"
import { Download } from "../../ui/Download.tsx"
import { Field, Form, Submit } from "../../ui/Forms.tsx"
import { Notice, ProblemNotice } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"

interface PartProps {
  readonly session: ResellerSession
}

const ChangePassword = ({ session }: PartProps) => {
  const { account, access } = useTexts()
  const [done, setDone] = useState(false)
  const [round, setRound] = useState(0)
  const change = useAction(async ({ password = "", newPassword = "" }: Readonly<Record<string, string>>) => {
    setDone(false)
    const body = { current_password: password, new_password: newPassword }
    const { token, reseller } = await bodyOf(api.POST("/api/reseller/auth/password", { body }))
    const { id, email, name } = reseller
    renewSession(session, { kind: "reseller", token, reseller: { id, email, name } })
    setDone(true)
    setRound((count) => count + 1)
  })
  const issue = (path: string) => change.problem?.issueOf(path) !== undefined
  return (
    <Card title={account.password}>
      <p>{account.passwordText}</p>
      <Form onSubmit={change.run}>
        {/* A new value of `key` empties a field, so that the passwords do not stay in the page. */}
        <Field
          key={`current ${round}`}
          label={account.currentPassword}
          name="password"
          type="password"
          autocomplete="current-password"
          required
          error={issue("current_password") ? account.wrongPassword : undefined}
        />
        <Field
          key={`new ${round}`}
          label={account.newPassword}
          hint={access.passwordHint}
          name="newPassword"
          type="password"
          autocomplete="new-password"
          required
          minLength={8}
          error={issue("new_password") ? access.passwordHint : undefined}
        />
        {change.problem?.code !== "validation_error" && <ProblemNotice problem={change.problem} />}
        {done && <Notice kind="good">{account.passwordChanged}</Notice>}
        <Submit running={change.running}>{account.changePassword}</Submit>
      </Form>
    </Card>
  )
}

const LogOut = ({ session }: PartProps) => {
  const { account } = useTexts()
  const everywhere = useAction(async () => {
    await bodyOf(api.POST("/api/reseller/auth/logout"))
    endSession(session)
  })
  return (
    <Card title={account.leave}>
      <p>{account.leaveText}</p>
      <ProblemNotice problem={everywhere.problem} />
      <p class="actions">
        <button type="button" class="button" onClick={() => closeSession()}>
          {account.logOut}
        </button>
        <button type="button" class="button" aria-disabled={everywhere.running} onClick={() => everywhere.run()}>
          {account.logOutEverywhere}
        </button>
      </p>
    </Card>
  )
}

export const Account = () => {
  const { account, shell } = useTexts()
  const session = useStore($session)
  if (session?.kind !== "reseller") return null
  const files = [
    ["/api/reseller/quota.csv", account.files.quota],
    ["/api/reseller/mints.csv", account.files.mints],
    ["/api/reseller/topups.csv", account.files.topUps],
    ["/api/reseller/usage.csv", account.files.usage]
  ] as const
  return (
    <Page title={shell.pages.account}>
      <div class="columns">
        <div class="stack">
          <Card title={account.title}>
            <dl class="summary">
              <dt>{account.name}</dt>
              <dd dir="auto">{session.reseller.name}</dd>
              <dt>{account.email}</dt>
              <dd dir="auto">{session.reseller.email}</dd>
            </dl>
          </Card>
          <Card title={account.filesTitle}>
            <p>{account.filesText}</p>
            <div class="actions">
              {files.map(([path, text]) => (
                <Download key={path} path={path} text={text} />
              ))}
            </div>
          </Card>
        </div>
        <div class="stack">
          <ChangePassword session={session} />
          <LogOut session={session} />
        </div>
      </div>
    </Page>
  )
}
