/**
 * Shows a text, such as an amount, an address or a secret, with a button that copies the text.
 */
import { useEffect, useRef, useState } from "preact/hooks"
import { useTexts } from "../i18n/Language.ts"

const CONFIRMED_MILLIS = 2_500

/** Copies the text. Returns false if the browser does not allow it, as on a page of another host without TLS. */
const copied = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

interface CopyButtonProps {
  readonly text: string
  /** The name of the copied text, for a screen reader. */
  readonly label: string
  readonly onRefused: () => void
}

const CopyButton = ({ text, label, onRefused }: CopyButtonProps) => {
  const { common } = useTexts()
  const [done, setDone] = useState(false)
  useEffect(() => {
    if (!done) return
    const timer = setTimeout(() => setDone(false), CONFIRMED_MILLIS)
    return () => clearTimeout(timer)
  }, [done])
  const copy = async () => {
    if (await copied(text)) setDone(true)
    else onRefused()
  }
  return (
    <button type="button" class="button small" onClick={copy}>
      <span aria-live="polite">{done ? common.copied : common.copy}</span>
      <span class="unseen"> {label}</span>
    </button>
  )
}

interface CopyProps {
  readonly text: string
  readonly label: string
  /** True if the text can have several lines. Its line breaks are then shown. */
  readonly block?: boolean
}

/** If the browser does not allow copying, the text is selected, so that the user can copy it by hand. */
export const Copy = ({ text, label, block = false }: CopyProps) => {
  const shown = useRef<HTMLElement>(null)
  const select = () => {
    if (shown.current !== null) getSelection()?.selectAllChildren(shown.current)
  }
  return (
    <div class={block ? "copy block" : "copy"}>
      {block ? (
        // Lines that are wider than the page are scrolled, which must be possible with the keyboard too.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be focusable
        <section class="scroll" tabIndex={0} aria-label={label}>
          <pre>
            <code ref={shown}>{text}</code>
          </pre>
        </section>
      ) : (
        <code ref={shown} dir="ltr">
          {text}
        </code>
      )}
      <CopyButton text={text} label={label} onRefused={select} />
    </div>
  )
}
