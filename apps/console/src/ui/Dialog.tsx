/**
 * Asks the user before an action that cannot be undone. The native dialog keeps the focus inside and closes on Escape.
 */
import type { ComponentChildren } from "preact"
import { useEffect, useId, useRef } from "preact/hooks"
import { useTexts } from "../i18n/Language.ts"

interface QuestionProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly confirm: string
  readonly running: boolean
  readonly onConfirm: () => void
  readonly onCancel: () => void
}

export const Question = ({ title, children, confirm, running, onConfirm, onCancel }: QuestionProps) => {
  const { common } = useTexts()
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id} onClose={onCancel}>
      <h2 id={id}>{title}</h2>
      <div class="dialog-body">{children}</div>
      <p class="actions">
        <button type="button" class="button danger" aria-disabled={running} onClick={onConfirm}>
          {running ? common.sending : confirm}
        </button>
        <button type="button" class="button" onClick={() => dialog.current?.close()}>
          {common.cancel}
        </button>
      </p>
    </dialog>
  )
}
