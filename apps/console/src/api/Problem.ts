/**
 * A failure: the gateway refused a request with a code (docs/reference/errors.md), a request got no response, or the
 * console refused or failed by itself.
 */
import type { Texts } from "../i18n/Language.ts"

export interface FieldIssue {
  readonly path: string
  readonly message: string
}

export class Problem extends Error {
  /**
   * The status of the response; 0 if there was none, -1 for any other exception, and 422 if the console itself refuses.
   */
  readonly status: number
  readonly code: string
  readonly details: ReadonlyArray<FieldIssue>
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(
    status: number,
    code: string,
    message: string,
    more: {
      readonly details?: ReadonlyArray<FieldIssue>
      readonly requestId?: string | undefined
      readonly retryAfterSeconds?: number | undefined
    } = {}
  ) {
    super(message)
    this.status = status
    this.code = code
    this.details = more.details ?? []
    this.requestId = more.requestId
    this.retryAfterSeconds = more.retryAfterSeconds
  }

  /**
   * True if the request may have had an effect although no success was reported. With a status from 200 to 399, the
   * response had no readable body.
   */
  get isUnknown(): boolean {
    return this.status < 400 || this.status >= 500
  }

  issueOf(path: string): string | undefined {
    return this.details.find((issue) => issue.path === path)?.message
  }
}

export const NO_RESPONSE = "no_response"

const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** Reads a refusal. The refusals of all routes have the members `code` and `message` at the same place. */
export const problemOf = (response: Response, body: unknown): Problem => {
  const error = member(body, "error")
  const details = member(error, "details")
  const seconds = Number.parseInt(response.headers.get("retry-after") ?? "", 10)
  return new Problem(response.status, textOf(member(error, "code")) ?? "", textOf(member(error, "message")) ?? "", {
    details: Array.isArray(details) ? (details as ReadonlyArray<FieldIssue>) : [],
    requestId: response.headers.get("x-request-id") ?? undefined,
    retryAfterSeconds: Number.isNaN(seconds) ? undefined : seconds
  })
}

/**
 * Returns the message about the problem for the user, in the user's language if the console has a text for the code.
 */
export const explain = (problem: Problem, { problems }: Texts): string => {
  const known = problems.byCode[problem.code as keyof typeof problems.byCode]
  if (problem.code === "rate_limited" && problem.retryAfterSeconds !== undefined)
    return problems.waitSeconds(problem.retryAfterSeconds)
  const fields = problem.details.map(({ path }) => path).filter((path) => path !== "")
  if (problem.code === "validation_error" && fields.length > 0)
    return problems.invalidFields([...new Set(fields)].join(", "))
  if (known !== undefined) return known
  return problem.message === "" ? problems.unknown : problem.message
}
