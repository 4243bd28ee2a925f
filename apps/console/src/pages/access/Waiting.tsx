/**
 * Shows that an operator must review the account. The page checks the account only when the user clicks a button,
 * because each check is a login attempt, and login attempts are limited.
 */
import { useStore } from "@nanostores/preact"
import { useState } from "preact/hooks"
import { useAction } from "../../api/Loaded.ts"
import { Problem } from "../../api/Problem.ts"
import { inactiveStatusOf } from "../../api/ResellerStatus.ts"
import { useTexts } from "../../i18n/Language.ts"
import { go, pathOf } from "../../routes/Routes.ts"
import { $waiting } from "../../state/ReturnPath.ts"
import { Notice, ProblemNotice } from "../../ui/Notices.tsx"
import { Page } from "../../ui/Page.tsx"
import { logIn } from "./LogIn.tsx"

export const Waiting = () => {
  const { access } = useTexts()
  const waiting = useStore($waiting)
  const [isStillWaiting, setStillWaiting] = useState(false)
  const ask = useAction(async (_: undefined, isCurrent) => {
    if (waiting === undefined) {
      go(pathOf("logIn"))
      return
    }
    try {
      await logIn(waiting, isCurrent)
    } catch (error) {
      const status = error instanceof Problem ? inactiveStatusOf(error) : undefined
      if (status === undefined || !isCurrent()) throw error
      if (status === "pending") setStillWaiting(true)
      else {
        $waiting.set(undefined)
        go(pathOf("logIn"))
      }
    }
  })
  return (
    <Page title={access.waiting} narrow>
      <div class="card stack">
        <p>{access.waitingText}</p>
        {waiting !== undefined && (
          <p>
            {access.waitingFor} <strong dir="auto">{waiting.email}</strong>
          </p>
        )}
        <ol class="steps">
          <li class="done">{access.stepSignedUp}</li>
          <li class="current">{access.stepReview}</li>
          <li>{access.stepTopUp}</li>
          <li>{access.stepMint}</li>
        </ol>
        {isStillWaiting && !ask.running && <Notice kind="info">{access.stillWaiting}</Notice>}
        <ProblemNotice problem={ask.problem} />
        <p class="actions">
          <button type="button" class="button primary" aria-disabled={ask.running} onClick={() => ask.run(undefined)}>
            {waiting === undefined ? access.logIn : access.askAgain}
          </button>
        </p>
      </div>
    </Page>
  )
}
