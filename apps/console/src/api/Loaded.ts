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
  /** Removes the problem. An action that runs continues, but its end changes nothing here, and a new one can start. */
  readonly forget: () => void
}

/**
 * Runs an action of the user, such as the submission of a form. `isCurrent` returns false after `forget` was called or
 * the component has disappeared. The action must then not open, close or fill what the user sees now.
 */
export const useAction = <Input = void>(
  act: (input: Input, isCurrent: () => boolean) => Promise<void>
): Action<Input> => {
  const [state, setState] = useState<{ readonly running: boolean; readonly problem: Problem | undefined }>({
    running: false,
    problem: undefined
  })
  /** The action that runs. */
  const running = useRef<object | undefined>(undefined)
  const run = (input: Input): void => {
    if (running.current !== undefined) return
    const own = {}
    running.current = own
    const isCurrent = () => running.current === own
    setState({ running: true, problem: undefined })
    act(input, isCurrent)
      .then(
        () => undefined,
        (error: unknown) => asProblem(error)
      )
      .then((problem) => {
        if (!isCurrent()) return
        running.current = undefined
        setState({ running: false, problem })
      })
  }
  const forget = (): void => {
    running.current = undefined
    setState({ running: false, problem: undefined })
  }
  useEffect(
    () => () => {
      running.current = undefined
    },
    []
  )
  return { ...state, run, forget }
}
