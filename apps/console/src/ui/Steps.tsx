/**
 * The part of a page that shows one step after another, such as a form and then its confirmation. The button that leads
 * to another step disappears with its own step. The focus then moves into the new step, so that a keyboard or a screen
 * reader continues there.
 */
import type { ComponentChildren } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"

interface StepsProps {
  /** Identifies the shown step. */
  readonly step: string
  readonly children: ComponentChildren
}

/** The first of these elements in a step gets the focus. */
const FOCUSED = "section[aria-label], .notice-title, input, select"

export const Steps = ({ step, children }: StepsProps) => {
  const box = useRef<HTMLDivElement>(null)
  const shown = useRef(step)
  useLayoutEffect(() => {
    if (shown.current === step) return
    shown.current = step
    const first = box.current?.querySelector<HTMLElement>(FOCUSED)
    // The focus is at the body if the focused element has left the page.
    if (document.activeElement !== document.body || first === null || first === undefined) return
    if (first.tabIndex < 0) first.tabIndex = -1
    first.focus()
  }, [step])
  return <div ref={box}>{children}</div>
}
