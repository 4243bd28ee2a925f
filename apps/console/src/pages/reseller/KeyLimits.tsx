/**
 * The form of the limits of an API key, and the dialog that changes the limits of an existing key.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import {
  countMembers,
  type KeyLimits,
  type KeyLimitsChange,
  type LimitMember,
  type LimitValues,
  modelField,
  readLimits,
  spendMembers,
  typedLimits
} from "../../api/KeyLimits.ts"
import { useAction } from "../../api/Loaded.ts"
import type { Problem } from "../../api/Problem.ts"
import type { ListedKey } from "../../api/Reseller.ts"
import { useLanguage, useTexts } from "../../i18n/Language.ts"
import { Dialog } from "../../ui/Dialog.tsx"
import { Field, Form, Submit } from "../../ui/Forms.tsx"
import { ProblemNotice } from "../../ui/Notices.tsx"

interface LimitReader {
  /** Returns the change that the user typed, or undefined if a value is not understood. */
  readonly read: (values: LimitValues) => KeyLimitsChange | undefined
  /** Returns what to tell about a field, because of its value or because the gateway refused it. */
  readonly issueOf: (member: LimitMember, problem: Problem | undefined) => string | undefined
}

export const useLimitReader = (before: KeyLimits | null): LimitReader => {
  const { limits } = useTexts()
  const language = useLanguage()
  const [malformed, setMalformed] = useState<ReadonlySet<LimitMember>>(new Set())
  return {
    read: (values) => {
      const read = readLimits(before, values, language)
      setMalformed(read.malformed)
      return read.malformed.size === 0 ? read.change : undefined
    },
    issueOf: (member, problem) =>
      malformed.has(member) || problem?.issueOf(`limits.${member}`) !== undefined ? limits.issues[member] : undefined
  }
}

/** True if the problem is about limits only, so that it is shown at their fields. */
export const isAboutLimits = (problem: Problem | undefined): boolean =>
  problem?.code === "validation_error" &&
  problem.details.length > 0 &&
  problem.details.every(({ path }) => path.startsWith("limits."))

interface LimitFieldsProps {
  readonly limits: KeyLimits | null
  /** The models to choose from; models that the key already has are added. */
  readonly models: ReadonlyArray<string>
  readonly issueOf: (member: LimitMember) => string | undefined
}

export const LimitFields = ({ limits, models, issueOf }: LimitFieldsProps) => {
  const { limits: texts } = useTexts()
  const typed = typedLimits(limits, useLanguage())
  const known = [...new Set([...models, ...(limits?.models ?? [])])].sort()
  const modelIssue = issueOf("models")
  const field = (member: LimitMember, inputMode?: "decimal" | "numeric") => (
    <Field
      key={member}
      label={texts.fields[member]}
      name={member}
      type={inputMode === undefined ? "datetime-local" : "text"}
      {...(inputMode === undefined ? {} : { inputMode })}
      autocomplete="off"
      defaultValue={typed[member] ?? ""}
      error={issueOf(member)}
    />
  )
  return (
    <>
      <p class="small">{texts.intro}</p>
      <div class="filters">{spendMembers.map((member) => field(member, "decimal"))}</div>
      <div class="filters">{countMembers.map((member) => field(member, "numeric"))}</div>
      {field("expires_at")}
      {known.length > 0 && (
        <fieldset class="checks">
          <legend>{texts.fields.models}</legend>
          {known.map((model) => (
            <label key={model} class="check">
              <input type="checkbox" name={modelField(model)} defaultChecked={typed[modelField(model)] === "on"} />
              <span dir="auto">{model}</span>
            </label>
          ))}
          <p class="hint">{texts.modelsHint}</p>
          {modelIssue !== undefined && <p class="error">{modelIssue}</p>}
        </fieldset>
      )}
    </>
  )
}

interface ChangeLimitsProps {
  readonly entry: ListedKey
  readonly models: ReadonlyArray<string>
  readonly onChanged: () => void
  readonly onClose: () => void
}

export const ChangeLimits = ({ entry, models, onChanged, onClose }: ChangeLimitsProps) => {
  const { limits: texts, common } = useTexts()
  const reader = useLimitReader(entry.limits)
  const save = useAction(async (values: LimitValues) => {
    const limits = reader.read(values)
    if (limits === undefined) return
    if (Object.keys(limits).length > 0) {
      const params = { path: { keyID: entry.key_id } }
      await bodyOf(api.PATCH("/api/reseller/keys/{keyID}", { params, body: { limits } }))
    }
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
