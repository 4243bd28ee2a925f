/**
 * The form with which an operator sets all limits of an API key.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import type { LimitValues } from "../../api/KeyLimits.ts"
import { useLoaded } from "../../api/Loaded.ts"
import type { KeyStatus } from "../../api/Operator.ts"
import type { Problem } from "../../api/Problem.ts"
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

interface KeyLimitsProps {
  readonly status: KeyStatus
  readonly isSaved: boolean
  readonly onChanged: () => void
}

export const KeyLimits = ({ status, isSaved, onChanged }: KeyLimitsProps) => {
  const { limits: shared } = useTexts()
  const { keys: texts } = useOperatorTexts()
  const models = useLoaded(readModels, [])
  const reader = useLimitReader(status.limits)
  const [problem, setProblem] = useState<Problem>()
  const { ask, dialog } = useDecision(onChanged)
  const check = (values: LimitValues): void => {
    setProblem(undefined)
    const change = reader.read(values)
    if (change === undefined) return
    // The request replaces all limits, so it also contains the unchanged limits.
    const limits = { ...status.limits, ...change }
    ask({
      title: texts.setQuestion(status.name),
      text: texts.setText,
      confirm: texts.set,
      reason: "optional",
      send: (reason) => {
        const body = reason === undefined ? { limits } : { limits, reason }
        const path = { keyID: status.key_id }
        return bodyOf(api.PUT("/api/operator/keys/{keyID}/limits", { params: { path }, body }))
      },
      showsProblem: (refusal) => {
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
          {isSaved && <Notice kind="good">{texts.saved}</Notice>}
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
