/**
 * Tells the user about a state of the page: a message, a failed request, data that is loading, or nothing to show yet.
 */
import type { ComponentChildren } from "preact"
import { explain, type Problem } from "../api/Problem.ts"
import { useTexts } from "../i18n/Language.ts"

interface NoticeProps {
  readonly kind: "info" | "good" | "warn" | "bad"
  readonly title?: string | undefined
  readonly children?: ComponentChildren
}

/** A message. An error interrupts a screen reader. Any other message waits until the screen reader is silent. */
export const Notice = ({ kind, title, children }: NoticeProps) => (
  <div class={`notice ${kind}`} role={kind === "bad" ? "alert" : "status"}>
    {title !== undefined && <p class="notice-title">{title}</p>}
    {children !== undefined && <div class="notice-body">{children}</div>}
  </div>
)

interface ProblemProps {
  readonly problem: Problem | undefined
  readonly retry?: (() => void) | undefined
}

export const ProblemNotice = ({ problem, retry }: ProblemProps) => {
  const texts = useTexts()
  if (problem === undefined) return null
  return (
    <Notice kind="bad">
      <p>{explain(problem, texts)}</p>
      {problem.requestId !== undefined && problem.status >= 500 && (
        <p class="small">
          {texts.problems.requestId} <code>{problem.requestId}</code>
        </p>
      )}
      {retry !== undefined && (
        <p>
          <button type="button" class="button" onClick={retry}>
            {texts.common.tryAgain}
          </button>
        </p>
      )}
    </Notice>
  )
}

/** Tells that a file of the console could not be loaded, for example because a newer version was installed. */
export const LoadProblem = () => {
  const { shell } = useTexts()
  return (
    <Notice kind="bad">
      <p>{shell.newVersion}</p>
      <button type="button" class="button" onClick={() => location.reload()}>
        {shell.reload}
      </button>
    </Notice>
  )
}

interface LoadingProps {
  readonly problem: Problem | undefined
  readonly retry: () => void
}

/** Replaces data that is not loaded: with a placeholder, or with the problem and a button to try again. */
export const Loading = ({ problem, retry }: LoadingProps) => {
  const { common } = useTexts()
  if (problem !== undefined) return <ProblemNotice problem={problem} retry={retry} />
  return (
    <div class="placeholder" role="status">
      <span class="unseen">{common.loading}</span>
    </div>
  )
}

interface EmptyProps {
  readonly title: string
  readonly children?: ComponentChildren
}

/** A message in place of missing content. It can state the next step. */
export const Empty = ({ title, children }: EmptyProps) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
)
