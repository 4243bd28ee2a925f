/**
 * Asks the operator to confirm a change. The dialog can have a field for the reason that the audit log records.
 */
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { asProblem, useAction } from "../../api/Loaded.ts"
import type { Problem } from "../../api/Problem.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { Question } from "../../ui/Dialog.tsx"
import { Field } from "../../ui/Forms.tsx"
import { OperatorProblem } from "./Problems.tsx"

export interface Decision {
  readonly title: string
  readonly text: ComponentChildren
  readonly confirm: string
  /** `required` or `optional`: whether the operator must give a reason. Undefined if the dialog asks for no reason. */
  readonly reason?: "required" | "optional"
  /** Makes the change. `reason` is undefined if the operator gave none. */
  readonly send: (reason: string | undefined) => Promise<unknown>
  /** Returns true if the page itself shows this problem. The dialog then closes. */
  readonly showsProblem?: (problem: Problem) => boolean
}

interface Asker {
  readonly ask: (decision: Decision) => void
  /** The dialog, which the page must contain. */
  readonly dialog: ComponentChildren
}

export const MAX_REASON_LENGTH = 500

/** Asks for one decision at a time. `onDone` runs after the gateway has confirmed the change. */
export const useDecision = (onDone: () => void): Asker => {
  const { decision: texts } = useOperatorTexts()
  const [decision, setDecision] = useState<Decision>()
  const [reason, setReason] = useState("")
  const [isMissing, setMissing] = useState(false)
  const close = () => {
    setDecision(undefined)
    setReason("")
    setMissing(false)
    send.forget()
  }
  const send = useAction(async (chosen: Decision, isCurrent) => {
    const given = reason.trim()
    setMissing(chosen.reason === "required" && given === "")
    if (chosen.reason === "required" && given === "") return
    try {
      await chosen.send(given === "" ? undefined : given)
    } catch (error) {
      if (!isCurrent() || chosen.showsProblem?.(asProblem(error)) !== true) throw error
      close()
      return
    }
    // If the operator has cancelled this dialog, another dialog can be open. It stays open.
    if (isCurrent()) close()
    onDone()
  })
  const dialog = decision !== undefined && (
    <Question
      title={decision.title}
      confirm={decision.confirm}
      running={send.running}
      onConfirm={() => send.run(decision)}
      onCancel={close}
    >
      <div>{decision.text}</div>
      {decision.reason !== undefined && (
        <Field
          label={texts.reason}
          hint={decision.reason === "required" ? texts.reasonHint : texts.optionalReasonHint}
          error={isMissing ? texts.reasonMissing : undefined}
          maxLength={MAX_REASON_LENGTH}
          autocomplete="off"
          value={reason}
          onInput={setReason}
        />
      )}
      <OperatorProblem problem={send.problem} />
    </Question>
  )
  return { ask: setDecision, dialog }
}
