/**
 * Defines a finding: the result of one check of a deployment, which `tollgate doctor` and the operator API show.
 */
export interface Finding {
  readonly check: string
  /** `tollgate doctor` exits with 1 if the status of at least one finding is `fail`. */
  readonly status: "ok" | "warn" | "fail"
  readonly detail: string
  /** The action that corrects the problem; absent when the status is `ok`. */
  readonly advice?: string
}

export const ok = (check: string, detail: string): Finding => ({ check, status: "ok", detail })

export const warn = (check: string, detail: string, advice: string): Finding => ({
  check,
  status: "warn",
  detail,
  advice
})

export const fail = (check: string, detail: string, advice: string): Finding => ({
  check,
  status: "fail",
  detail,
  advice
})
