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
import { countOf, usdMicroOf } from "../format/Amounts.ts"
import { useFormat } from "../format/Format.ts"
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

interface AmountFieldProps {
  readonly member: (typeof spendMembers)[number] | (typeof countMembers)[number]
  readonly inputMode: "decimal" | "numeric"
  /** The text with which the field begins. */
  readonly defaultValue: string
  readonly error: string | undefined
  readonly read: (typed: string) => number | undefined
  readonly write: (amount: number) => string
}

/**
 * A field for an amount or a count. The limit that the console reads is shown below the field, because the languages
 * write separators differently: `1.000` is 1 in English and 1,000 in Indonesian.
 */
const AmountField = ({ member, inputMode, defaultValue, error, read, write }: AmountFieldProps) => {
  const { limits: texts } = useTexts()
  const [typed, setTyped] = useState(defaultValue)
  const amount = read(typed)
  return (
    <Field
      label={texts.fields[member]}
      hint={amount === undefined ? undefined : texts.words[member](write(amount))}
      name={member}
      inputMode={inputMode}
      autocomplete="off"
      defaultValue={defaultValue}
      onInput={setTyped}
      error={error}
    />
  )
}

interface LimitFieldsProps {
  readonly limits: KeyLimits | null
  /** The models to choose from. The models that the key already allows are added. */
  readonly models: ReadonlyArray<string>
  readonly issueOf: (member: LimitMember) => string | undefined
}

export const LimitFields = ({ limits, models, issueOf }: LimitFieldsProps) => {
  const { limits: texts } = useTexts()
  const format = useFormat()
  const language = useLanguage()
  const typed = typedLimits(limits, language)
  const known = [...new Set([...models, ...(limits?.models ?? [])])].sort()
  const modelIssue = issueOf("models")
  return (
    <>
      <p class="small">{texts.intro}</p>
      <div class="filters">
        {spendMembers.map((member) => (
          <AmountField
            key={member}
            member={member}
            inputMode="decimal"
            defaultValue={typed[member] ?? ""}
            error={issueOf(member)}
            read={(text) => usdMicroOf(text, language)}
            write={format.usd}
          />
        ))}
      </div>
      <div class="filters">
        {countMembers.map((member) => (
          <AmountField
            key={member}
            member={member}
            inputMode="numeric"
            defaultValue={typed[member] ?? ""}
            error={issueOf(member)}
            read={(text) => countOf(text, language)}
            write={format.count}
          />
        ))}
      </div>
      <Field
        label={texts.fields.expires_at}
        name="expires_at"
        type="datetime-local"
        autocomplete="off"
        defaultValue={typed.expires_at ?? ""}
        error={issueOf("expires_at")}
      />
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
