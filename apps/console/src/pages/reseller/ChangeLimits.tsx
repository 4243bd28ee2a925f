/**
 * The dialog in which a reseller changes the limits of an API key.
 */
import { api, bodyOf } from "../../api/Client.ts"
import type { LimitValues } from "../../api/KeyLimits.ts"
import { useAction } from "../../api/Loaded.ts"
import type { ListedKey } from "../../api/Reseller.ts"
import { useTexts } from "../../i18n/Language.ts"
import { Dialog } from "../../ui/Dialog.tsx"
import { Form, Submit } from "../../ui/Forms.tsx"
import { isAboutLimits, LimitFields, useLimitReader } from "../../ui/LimitFields.tsx"
import { ProblemNotice } from "../../ui/Notices.tsx"

interface ChangeLimitsProps {
  readonly entry: ListedKey
  readonly models: ReadonlyArray<string>
  readonly onChanged: () => void
  readonly onClose: () => void
}

export const ChangeLimits = ({ entry, models, onChanged, onClose }: ChangeLimitsProps) => {
  const { limits: texts, common } = useTexts()
  const reader = useLimitReader(entry.limits)
  const save = useAction(async (values: LimitValues, isCurrent) => {
    const limits = reader.read(values)
    if (limits === undefined) return
    if (Object.keys(limits).length > 0) {
      const params = { path: { keyID: entry.key_id } }
      await bodyOf(api.PATCH("/api/reseller/keys/{keyID}", { params, body: { limits } }))
    }
    // If the reseller has cancelled this dialog, another dialog can be open. It stays open.
    if (isCurrent()) onClose()
    onChanged()
  })
  return (
    <Dialog title={texts.change(entry.name)} onClose={onClose}>
      {(close) => (
        <Form onSubmit={save.run} class="form dialog-form">
          <LimitFields
            limits={entry.limits}
            models={models}
            issueOf={(member) => reader.issueOf(member, save.problem)}
          />
          {!isAboutLimits(save.problem) && <ProblemNotice problem={save.problem} />}
          <p class="actions">
            <Submit running={save.running}>{texts.save}</Submit>
            <button type="button" class="button" onClick={close}>
              {common.cancel}
            </button>
          </p>
        </Form>
      )}
    </Dialog>
  )
}
