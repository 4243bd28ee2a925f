/**
 * The form with which an operator sets all limits of an API key.
 */
import { api, bodyOf } from "../../api/Client.ts"
import type { LimitValues } from "../../api/KeyLimits.ts"
import { useLoaded } from "../../api/Loaded.ts"
import type { KeyStatus } from "../../api/Operator.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { Form } from "../../ui/Forms.tsx"
import { LimitFields, useLimitReader } from "../../ui/LimitFields.tsx"
import { Loading, Notice } from "../../ui/Notices.tsx"
import { Card } from "../../ui/Page.tsx"
import { useDecision } from "./Decision.tsx"

/** Returns the names of the models that are not retired. The gateway refuses limits that contain a hidden model. */
const readModels = async (signal: AbortSignal): Promise<ReadonlyArray<string>> => {
  const { models } = await bodyOf(api.GET("/api/operator/catalog", { signal }))
  return models.filter(({ retired }) => !retired).map(({ public_name }) => public_name)
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
  const { ask, dialog } = useDecision(onChanged)
  const check = (values: LimitValues): void => {
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
            issueOf={(member) => reader.issueOf(member, undefined)}
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
