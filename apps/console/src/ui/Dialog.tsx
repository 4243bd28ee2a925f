/**
 * Shows dialogs above the page. The native dialog element keeps the focus inside the dialog. The key Escape closes it.
 */
import type { ComponentChildren } from "preact"
import { useEffect, useId, useRef } from "preact/hooks"
import { useTexts } from "../i18n/Language.ts"

interface DialogProps {
  readonly title: string
  readonly children: (close: () => void) => ComponentChildren
  readonly onClose: () => void
}

export const Dialog = ({ title, children, onClose }: DialogProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id} onClose={onClose}>
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
