/**
 * Shows dialogs above the page. The native dialog element keeps the focus inside the dialog. The key Escape closes it.
 * The browser then returns the focus to the element that had it before.
 */
import type { ComponentChildren } from "preact"
import { useId, useLayoutEffect, useRef } from "preact/hooks"
import { useTexts } from "../i18n/Language.ts"

const ancestorsOf = (element: Element): ReadonlyArray<Element> => {
  const parent = element.parentElement
  return parent === null ? [] : [parent, ...ancestorsOf(parent)]
}

/**
 * Keeps the focus in the page if `focused` disappears, as the button of a key does when the list is read again: moves
 * it to the heading of the nearest part of the page that is still there.
 */
const keepFocusNear = (focused: Element): void => {
  const parts = ancestorsOf(focused)
  const observer = new MutationObserver(() => {
    if (document.activeElement === focused) return
    observer.disconnect()
    if (focused.isConnected || document.activeElement !== document.body) return
    const headings = parts.filter((part) => part.isConnected).map((part) => part.querySelector<HTMLElement>("h1, h2"))
    const heading = headings.find((each) => each !== null)
    if (heading === undefined || heading === null) return
    heading.tabIndex = -1
    heading.focus({ preventScroll: true })
  })
  observer.observe(document.body, { childList: true, subtree: true })
}

interface DialogProps {
  readonly title: string
  readonly children: (close: () => void) => ComponentChildren
  readonly onClose: () => void
}

export const Dialog = ({ title, children, onClose }: DialogProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const isRemoved = useRef(false)
  // A layout effect ends before the element leaves the page. The browser returns the focus only when an element that is
  // in the page is closed.
  useLayoutEffect(() => {
    const element = dialog.current
    const before = document.activeElement
    element?.showModal()
    return () => {
      isRemoved.current = true
      element?.close()
      if (before !== null && document.activeElement === before) keepFocusNear(before)
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onClose={() => {
        if (!isRemoved.current) onClose()
      }}
    >
      <h2 id={id} dir="auto">
        {title}
      </h2>
      {children(() => dialog.current?.close())}
    </dialog>
  )
}

interface QuestionProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly confirm: string
  readonly running: boolean
  readonly onConfirm: () => void
  readonly onCancel: () => void
}

/** Asks the user to confirm an action. */
export const Question = ({ title, children, confirm, running, onConfirm, onCancel }: QuestionProps) => {
  const { common } = useTexts()
  return (
    <Dialog title={title} onClose={onCancel}>
      {(close) => (
        <>
          <div class="dialog-body">{children}</div>
          <p class="actions">
            <button type="button" class="button danger" aria-disabled={running} onClick={onConfirm}>
              {running ? common.sending : confirm}
            </button>
            <button type="button" class="button" onClick={close}>
              {common.cancel}
            </button>
          </p>
        </>
      )}
    </Dialog>
  )
}
