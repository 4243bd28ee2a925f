/**
 * Draws a text as a QR code. The console draws the code itself, because an image of the payment provider would have to
 * be loaded from another host.
 */
import { useEffect, useState } from "preact/hooks"
import { LoadProblem } from "./Notices.tsx"

interface QrProps {
  readonly text: string
  readonly label: string
}

/** The width in modules of the light border that scanners need around a code. */
const BORDER = 4

/** Returns the outline of the dark modules, one run of modules after the other. */
const outlineOf = (rows: ReadonlyArray<ReadonlyArray<boolean>>): string =>
  rows
    .flatMap((row, y) =>
      row.flatMap((dark, x) => {
        if (!dark || row[x - 1] === true) return []
        const end = row.indexOf(false, x)
        return [`M${x} ${y}h${(end < 0 ? row.length : end) - x}v1H${x}z`]
      })
    )
    .join("")

export const Qr = ({ text, label }: QrProps) => {
  const [drawn, setDrawn] = useState<{ readonly size: number; readonly outline: string }>()
  const [failed, setFailed] = useState(false)
  useEffect(() => {
    let isCurrent = true
    import("uqr").then(
      ({ encode }) => {
        const { data, size } = encode(text, { ecc: "M", border: BORDER })
        if (isCurrent) setDrawn({ size, outline: outlineOf(data) })
      },
      () => setFailed(true)
    )
    return () => {
      isCurrent = false
    }
  }, [text])
  if (failed) return <LoadProblem />
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${drawn?.size ?? 1} ${drawn?.size ?? 1}`}>
      <rect width="100%" height="100%" fill="#fff" />
      {drawn !== undefined && <path d={drawn.outline} fill="#000" shape-rendering="crispEdges" />}
    </svg>
  )
}
