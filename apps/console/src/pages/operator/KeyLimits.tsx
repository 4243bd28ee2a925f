/**
 * The form with all limits of an API key. An empty field is no limit.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import type { KeyStatus } from "../../api/Operator.ts"
import { dollarsOf, usdMicroOf } from "../../format/Dollars.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { Field, Form } from "../../ui/Forms.tsx"
import { Notice } from "../../ui/Notices.tsx"
import { Card } from "../../ui/Page.tsx"
import { useDecision } from "./Decision.tsx"

type Limits = NonNullable<KeyStatus["limits"]>
type LimitName = keyof Limits
type Values = Readonly<Record<string, string>>

const JAKARTA_MIDNIGHT = "T00:00:00+07:00"
const JAKARTA_OFFSET_MILLIS = 7 * 3_600_000

const dayOf = (instant: string): string =>
  new Date(Date.parse(instant) + JAKARTA_OFFSET_MILLIS).toISOString().slice(0, 10)

const amounts = ["spend_usd_micro_per_day", "spend_usd_micro_per_month", "spend_usd_micro_total"] as const
const counts = ["requests_per_minute", "tokens_per_minute", "concurrent_requests"] as const

/** Returns the texts of the fields for these limits. */
const fieldsOf = (limits: Limits | null): Readonly<Record<LimitName, string>> => {
  const text = (value: number | null | undefined, show: (value: number) => string = String) =>
    value === null || value === undefined ? "" : show(value)
  return {
    spend_usd_micro_per_day: text(limits?.spend_usd_micro_per_day, dollarsOf),
    spend_usd_micro_per_month: text(limits?.spend_usd_micro_per_month, dollarsOf),
    spend_usd_micro_total: text(limits?.spend_usd_micro_total, dollarsOf),
    requests_per_minute: text(limits?.requests_per_minute),
    tokens_per_minute: text(limits?.tokens_per_minute),
    concurrent_requests: text(limits?.concurrent_requests),
    expires_at: limits?.expires_at ? dayOf(limits.expires_at) : "",
    models: limits?.models?.join(", ") ?? ""
  }
}

interface Read {
  readonly limits: Partial<Limits>
  /** The fields whose text is no value. */
  readonly wrong: ReadonlyArray<LimitName>
}

/** Reads the fields. An expiry whose day is unchanged keeps its exact time. */
const readFields = (values: Values, before: Limits | null): Read => {
  const limits: { -readonly [Name in LimitName]?: Limits[Name] } = {}
  const wrong: Array<LimitName> = []
  for (const name of amounts) {
    const typed = values[name] ?? ""
    const micro = usdMicroOf(typed)
    if (micro !== undefined) limits[name] = Number(micro)
    else if (typed !== "") wrong.push(name)
  }
  for (const name of counts) {
    const typed = (values[name] ?? "").replace(/[.,\s]/g, "")
    if (/^\d{1,12}$/.test(typed)) limits[name] = Number.parseInt(typed, 10)
    else if (typed !== "") wrong.push(name)
  }
  const day = values.expires_at ?? ""
  if (day !== "") {
    const isSame = before?.expires_at != null && dayOf(before.expires_at) === day
    limits.expires_at = isSame ? before.expires_at : new Date(`${day}${JAKARTA_MIDNIGHT}`).toISOString()
  }
  const models = (values.models ?? "")
    .split(",")
    .map((model) => model.trim())
    .filter((model) => model !== "")
  if (models.length > 0) limits.models = models
  return { limits, wrong }
}

interface KeyLimitsProps {
  readonly status: KeyStatus
  readonly isSaved: boolean
  readonly onChanged: () => void
}

export const KeyLimits = ({ status, isSaved, onChanged }: KeyLimitsProps) => {
  const { keys: texts } = useOperatorTexts()
  const [wrong, setWrong] = useState<ReadonlyArray<LimitName>>([])
  const { ask, dialog } = useDecision(onChanged)
  const check = (values: Values): void => {
    const read = readFields(values, status.limits)
    setWrong(read.wrong)
    if (read.wrong.length > 0) return
    ask({
      title: texts.setQuestion(status.name),
      text: texts.setText,
      confirm: texts.set,
      reason: "optional",
      send: (reason) => {
        const body = reason === undefined ? { limits: read.limits } : { limits: read.limits, reason }
        const path = { keyID: status.key_id }
        return bodyOf(api.PUT("/api/operator/keys/{keyID}/limits", { params: { path }, body }))
      }
    })
  }
  const shown = fieldsOf(status.limits)
  const labels: Readonly<Record<LimitName, string>> = {
    spend_usd_micro_per_day: texts.perDay,
    spend_usd_micro_per_month: texts.perMonth,
    spend_usd_micro_total: texts.inTotal,
    requests_per_minute: texts.requestsPerMinute,
    tokens_per_minute: texts.tokensPerMinute,
    concurrent_requests: texts.concurrent,
    expires_at: texts.expires,
    models: texts.models
  }
  const field = (name: LimitName, more: Partial<Parameters<typeof Field>[0]> = {}) => (
    <Field
      key={name}
      label={labels[name]}
      name={name}
      autocomplete="off"
      defaultValue={shown[name]}
      error={wrong.includes(name) ? texts.issue : undefined}
      {...more}
    />
  )
  return (
    <Card title={texts.limits}>
      <Form onSubmit={check}>
        <p class="muted">{texts.limitsText}</p>
        <div class="filters">
          {amounts.map((name) => field(name, { inputMode: "decimal" }))}
          {counts.map((name) => field(name, { inputMode: "numeric" }))}
          {field("expires_at", { type: "date" })}
        </div>
        {field("models", { hint: texts.modelsHint, spellcheck: false })}
        {isSaved && <Notice kind="good">{texts.saved}</Notice>}
        <p class="actions">
          <button type="submit" class="button primary">
            {texts.set}
          </button>
        </p>
      </Form>
      {dialog}
    </Card>
  )
}
