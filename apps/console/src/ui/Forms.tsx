/**
 * The parts of a form: labelled fields with hint and error, and the button that submits.
 */
import type { ComponentChildren } from "preact"
import { useId } from "preact/hooks"
import { useTexts } from "../i18n/Language.ts"

interface FieldProps {
  readonly label: string
  readonly hint?: string | undefined
  readonly error?: string | undefined
  readonly name?: string
  readonly type?: "text" | "email" | "password" | "tel" | "search" | "date" | "datetime-local"
  readonly required?: boolean
  readonly minLength?: number
  readonly maxLength?: number
  /** The first and the last date, for a field of the type `date`. */
  readonly min?: string
  readonly max?: string
  readonly autocomplete?: string
  readonly inputMode?: "numeric" | "decimal"
  readonly spellcheck?: boolean
  /** The id of a `datalist` with suggestions. */
  readonly list?: string
  readonly value?: string
  readonly defaultValue?: string
  readonly onInput?: (value: string) => void
}

/**
 * The attributes of a field for an email. The gateway accepts emails with letters of all scripts. With the type
 * `email`, browsers refuse some of them and change others: Chromium replaces `@tokó.example` by `@xn--tok-ina.example`,
 * which the gateway stores as another email.
 */
const EMAIL = { type: "text", inputMode: "email", autocapitalize: "none", spellcheck: false } as const

export const Field = ({ label, hint, error, type = "text", onInput, ...input }: FieldProps) => {
  const id = useId()
  const described = [hint === undefined ? "" : `${id}-hint`, error === undefined ? "" : `${id}-error`].join(" ").trim()
  // The types of JSX allow each attribute only for some literal types of inputs, so they cannot check a variable type.
  const kind = type === "email" ? EMAIL : { type }
  const attributes: object = { ...input, ...kind, ...(described === "" ? {} : { "aria-describedby": described }) }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...attributes}
        id={id}
        class="input"
        onInput={(event) => onInput?.(event.currentTarget.value)}
        aria-invalid={error !== undefined}
      />
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p class="error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

interface SelectProps {
  readonly label: string
  readonly value: string
  readonly onSelect: (value: string) => void
  readonly options: ReadonlyArray<readonly [value: string, shown: string]>
}

export const Select = ({ label, value, onSelect, options }: SelectProps) => {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} class="input" value={value} onChange={(event) => onSelect(event.currentTarget.value)}>
        {options.map(([each, shown]) => (
          <option key={each} value={each}>
            {shown}
          </option>
        ))}
      </select>
    </div>
  )
}

interface SubmitProps {
  readonly running: boolean
  readonly disabled?: boolean
  readonly children: ComponentChildren
}

/** The button that submits. While the request runs, the button keeps the focus. A click on it then has no effect. */
export const Submit = ({ running, disabled = false, children }: SubmitProps) => {
  const { common } = useTexts()
  return (
    <button type="submit" class="button primary" disabled={disabled} aria-disabled={running}>
      {running ? common.sending : children}
    </button>
  )
}

interface FormProps {
  readonly onSubmit: (values: Readonly<Record<string, string>>) => void
  readonly children: ComponentChildren
  readonly class?: string
  readonly label?: string
}

/**
 * A form that passes its values as texts to `onSubmit`. All values except passwords are trimmed. The browser does not
 * load another page.
 */
export const Form = ({ onSubmit, children, class: name = "form", label }: FormProps) => (
  <form
    class={name}
    aria-label={label}
    onSubmit={(event) => {
      event.preventDefault()
      const entries = [...new FormData(event.currentTarget)]
      const untrimmed = (member: string) => member.toLowerCase().includes("password")
      onSubmit(
        Object.fromEntries(
          entries.map(([name, value]) => [name, untrimmed(name) ? String(value) : String(value).trim()])
        )
      )
    }}
  >
    {children}
  </form>
)
