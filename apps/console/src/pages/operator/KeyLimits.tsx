/**
 * The form with which an operator sets all limits of an API key.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import type { LimitValues } from "../../api/KeyLimits.ts"
import { useLoaded } from "../../api/Loaded.ts"
import type { KeyStatus } from "../../api/Operator.ts"
import { Problem } from "../../api/Problem.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { Form } from "../../ui/Forms.tsx"
import { isAboutLimits, LimitFields, useLimitReader } from "../../ui/LimitFields.tsx"
import { Loading, Notice } from "../../ui/Notices.tsx"
import { Card } from "../../ui/Page.tsx"
import { useDecision } from "./Decision.tsx"

/** Returns the names of the models to choose from. The gateway refuses limits that contain a hidden model. */
const readModels = async (signal: AbortSignal): Promise<ReadonlyArray<string>> => {
  const { models } = await bodyOf(api.GET("/api/operator/catalog", { signal }))
  return models.filter(({ hidden, retired }) => !hidden && !retired).map(({ public_name }) => public_name)
}

const CHANGED = "limits_changed"

/** The end of the last change: the limits are set, or the console has refused because they had changed meanwhile. */
export type LimitsOutcome = "saved" | "changed"

interface KeyLimitsProps {
  readonly status: KeyStatus
  readonly outcome: LimitsOutcome | undefined
  /** Called with an outcome after which the limits must be read again, and with undefined when a new change begins. */
  readonly onOutcome: (outcome: LimitsOutcome | undefined) => void
}

export const KeyLimits = ({ status, outcome, onOutcome }: KeyLimitsProps) => {
  const { limits: shared } = useTexts()
  const { keys: texts } = useOperatorTexts()
  const models = useLoaded(readModels, [])
  const reader = useLimitReader(status.limits)
  const [problem, setProblem] = useState<Problem>()
  const { ask, dialog } = useDecision(() => onOutcome("saved"))
  const check = (values: LimitValues): void => {
    setProblem(undefined)
    onOutcome(undefined)
    const change = reader.read(values)
    if (change === undefined) return
    // The request replaces all limits, so it also contains the unchanged limits.
    const limits = { ...status.limits, ...change }
    ask({
      title: texts.setQuestion(status.name),
      text: texts.setText,
      confirm: texts.set,
      reason: "optional",
      send: async (reason) => {
        const path = { keyID: status.key_id }
        const stored = await bodyOf(api.GET("/api/operator/keys/{keyID}", { params: { path } }))
        if (JSON.stringify(stored.limits) !== JSON.stringify(status.limits)) throw new Problem(422, CHANGED, "")
        const body = reason === undefined ? { limits } : { limits, reason }
        return bodyOf(api.PUT("/api/operator/keys/{keyID}/limits", { params: { path }, body }))
      },
      showsProblem: (refusal) => {
        if (refusal.code === CHANGED) {
          onOutcome("changed")
          return true
        }
        if (isAboutLimits(refusal)) setProblem(refusal)
        return isAboutLimits(refusal)
      }
    })
  }
  return (
    <Card title={shared.title}>
      {models.data === undefined && models.problem === undefined ? (
        <Loading problem={undefined} retry={models.reload} />
      ) : (
        <Form onSubmit={check}>
          <LimitFields
            limits={status.limits}
            models={models.data ?? []}
            issueOf={(member) => reader.issueOf(member, problem)}
          />
          {outcome === "saved" && <Notice kind="good">{texts.saved}</Notice>}
          {outcome === "changed" && <Notice kind="warn">{texts.changedMeanwhile}</Notice>}
          <p class="actions">
            <button type="submit" class="button primary">
              {texts.set}
            </button>
          </p>
        </Form>
      )}
      {dialog}
    </Card>
  )
}
