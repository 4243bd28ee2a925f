/**
 * A list that grows by pages: `usePages` reads each further page with the cursor of the page before it.
 */
import { useEffect, useRef, useState } from "preact/hooks"
import { asProblem } from "../api/Loaded.ts"
import type { Problem } from "../api/Problem.ts"
import { useTexts } from "../i18n/Language.ts"
import { ProblemNotice } from "./Notices.tsx"

export interface CursorPage<A> {
  readonly data: ReadonlyArray<A>
  readonly next_cursor: string | null
}

interface State<A> {
  readonly items: ReadonlyArray<A>
  /** Undefined before the first page, `null` after the last page. */
  readonly cursor: string | null | undefined
  readonly problem: Problem | undefined
  readonly loading: boolean
}

export interface Pages<A> extends State<A> {
  readonly more: () => void
}

const start = { items: [], cursor: undefined, problem: undefined, loading: true }

/** Reads the first page at once and whenever one of `inputs` changes, and a further page on request. */
export const usePages = <A,>(
  read: (cursor: string | undefined) => Promise<CursorPage<A>>,
  inputs: ReadonlyArray<unknown>
): Pages<A> => {
  const [state, setState] = useState<State<A>>(start)
  const turn = useRef(0)
  const load = (items: ReadonlyArray<A>, cursor: string | undefined) => {
    const own = ++turn.current
    setState({ items, cursor, problem: undefined, loading: true })
    read(cursor).then(
      ({ data, next_cursor }) => {
        if (own !== turn.current) return
        setState({ items: [...items, ...data], cursor: next_cursor, problem: undefined, loading: false })
      },
      (error: unknown) => {
        if (own === turn.current) setState({ items, cursor, problem: asProblem(error), loading: false })
      }
    )
  }
  useEffect(() => load([], undefined), [...inputs])
  return { ...state, more: () => load(state.items, state.cursor ?? undefined) }
}

export const More = <A,>({ pages }: { readonly pages: Pages<A> }) => {
  const { common } = useTexts()
  if (pages.problem !== undefined) return <ProblemNotice problem={pages.problem} retry={pages.more} />
  if (pages.cursor === null || (pages.loading && pages.items.length === 0)) return null
  return (
    <p class="more">
      <button type="button" class="button" aria-disabled={pages.loading} onClick={pages.more}>
        {pages.loading ? common.loading : common.more}
      </button>
    </p>
  )
}
