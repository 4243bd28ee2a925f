/**
 * Loads data for a component: `useLoaded` calls `load` when the component appears, whenever one of `inputs` changes,
 * and for `reload`. The result of an earlier call never replaces the result of a later call.
 */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { Problem } from "./Problem.ts"

export interface Loaded<A> {
  /** The data that was loaded last, even while newer data is being loaded. */
  readonly data: A | undefined
  readonly problem: Problem | undefined
  readonly loading: boolean
  readonly reload: () => void
}

export const asProblem = (error: unknown): Problem =>
  error instanceof Problem ? error : new Problem(-1, "console_error", error instanceof Error ? error.message : "")

export const useLoaded = <A>(load: (signal: AbortSignal) => Promise<A>, inputs: ReadonlyArray<unknown>): Loaded<A> => {
  const [state, setState] = useState<Omit<Loaded<A>, "reload">>({ data: undefined, problem: undefined, loading: true })
  const [attempt, setAttempt] = useState(0)
  const latest = useRef(load)
  latest.current = load
  useEffect(() => {
    const controller = new AbortController()
    setState(({ data }) => ({ data, problem: undefined, loading: true }))
    latest.current(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setState({ data, problem: undefined, loading: false })
      },
      (error: unknown) => {
        if (!controller.signal.aborted) setState(({ data }) => ({ data, problem: asProblem(error), loading: false }))
      }
    )
    return () => controller.abort()
  }, [attempt, ...inputs])
  const reload = useCallback(() => setAttempt((count) => count + 1), [])
  return { ...state, reload }
}

export interface Action<Input> {
  readonly running: boolean
  readonly problem: Problem | undefined
  /** Starts the action. A call while the action runs does nothing, so a double click acts once. */
  readonly run: (input: Input) => void
  readonly forget: () => void
}

/** Runs an action of the user, such as the submission of a form. */
export const useAction = <Input = void>(act: (input: Input) => Promise<void>): Action<Input> => {
  const [state, setState] = useState<{ readonly running: boolean; readonly problem: Problem | undefined }>({
    running: false,
    problem: undefined
  })
  const running = useRef(false)
  const run = (input: Input): void => {
    if (running.current) return
    running.current = true
    setState({ running: true, problem: undefined })
    act(input)
      .then(
        () => undefined,
        (error: unknown) => asProblem(error)
      )
      .then((problem) => {
        running.current = false
        setState({ running: false, problem })
      })
  }
  return { ...state, run, forget: () => setState({ running: false, problem: undefined }) }
}
