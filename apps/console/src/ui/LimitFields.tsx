/**
 * The fields for the limits of an API key in a form.
 */
import { useState } from "preact/hooks"
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
} from "../api/KeyLimits.ts"
import type { Problem } from "../api/Problem.ts"
import { useLanguage, useTexts } from "../i18n/Language.ts"
import { Field } from "./Forms.tsx"

interface LimitReader {
  /** Returns the change that the user typed, or undefined if a value is not understood. */
  readonly read: (values: LimitValues) => KeyLimitsChange | undefined
  /** Returns the message below a field if its value is not valid or the gateway refused it. */
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

/** True if the problem concerns only limits. The page then shows the problem at the fields of these limits. */
export const isAboutLimits = (problem: Problem | undefined): boolean =>
  problem?.code === "validation_error" &&
  problem.details.length > 0 &&
  problem.details.every(({ path }) => path.startsWith("limits."))

interface LimitFieldsProps {
  readonly limits: KeyLimits | null
  /** The models to choose from. The models that the key already allows are added. */
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
