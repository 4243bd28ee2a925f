/**
 * Shows the tokens of each day as bars, with a table of the days with usage for users who cannot see the bars.
 */
import { useEffect, useRef, useState } from "preact/hooks"
import type uPlot from "uplot"
import "@tollgate/adapters-http/assets/rankings/browser-language.js"
import { daysBetween, type Format, useFormat } from "../format/Format.ts"
import { useTexts } from "../i18n/Language.ts"
import { LoadProblem } from "./Notices.tsx"

export interface DailyUsage {
  readonly from: string
  readonly to: string
  readonly days: ReadonlyArray<{
    readonly date: string
    readonly requests: number
    readonly total_tokens: number
    readonly display_cost_usd_micro: string
  }>
}

/**
 * Returns the colour of a CSS variable of the theme. The variable contains one colour for the light theme and one for
 * the dark theme.
 */
const colourOf = (token: string): string => {
  const probe = document.createElement("span")
  probe.style.color = `var(${token})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

const HEIGHT = 190
const LABEL_WIDTH = 76

const draw = async (frame: HTMLElement, usage: DailyUsage, format: Format): Promise<uPlot> => {
  const [{ default: UPlot }] = await Promise.all([import("uplot"), import("uplot/dist/uPlot.min.css")])
  const days = daysBetween(usage.from, usage.to)
  const tokens = new Map(usage.days.map((day) => [day.date, day.total_tokens]))
  const axis = { stroke: colourOf("--muted"), font: `12px ${getComputedStyle(document.body).fontFamily}` }
  const every = Math.max(1, Math.ceil(days.length / Math.max(1, Math.floor(frame.clientWidth / LABEL_WIDTH))))
  const bars = UPlot.paths.bars?.({ size: [0.72, 28], radius: 0.15 })
  return new UPlot(
    {
      width: frame.clientWidth,
      height: HEIGHT,
      padding: [10, 8, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: () => [-0.6, days.length - 0.4] },
        y: { range: (_, __, max) => [0, Math.max(max, 1) * 1.05] }
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          ticks: { show: false },
          size: 28,
          splits: () => days.flatMap((_, i) => (i % every === 0 ? [i] : [])),
          values: (_, at) => at.map((i) => format.shortDay(days[i] ?? ""))
        },
        {
          ...axis,
          size: 58,
          grid: { stroke: colourOf("--line"), width: 1 },
          ticks: { show: false },
          values: (_, at) => at.map((value) => (Number.isInteger(value) ? format.short(value) : ""))
        }
      ],
      series: [
        {},
        {
          fill: colourOf("--accent"),
          width: 0,
          points: { show: false },
          ...(bars === undefined ? {} : { paths: bars })
        }
      ]
    },
    [days.map((_, i) => i), days.map((day) => tokens.get(day) ?? 0)],
    frame
  )
}

/**
 * Returns a number that grows when the theme of the device or the selected theme changes. The chart must then be drawn
 * again.
 */
const useThemeChange = (): number => {
  const [change, setChange] = useState(0)
  useEffect(() => {
    const changed = () => setChange((count) => count + 1)
    const system = matchMedia("(prefers-color-scheme: dark)")
    const selected = new MutationObserver(changed)
    system.addEventListener("change", changed)
    selected.observe(document.documentElement, { attributeFilter: ["data-theme"] })
    return () => {
      system.removeEventListener("change", changed)
      selected.disconnect()
    }
  }, [])
  return change
}

export const UsageChart = ({ usage }: { readonly usage: DailyUsage }) => {
  const texts = useTexts()
  const format = useFormat()
  const frame = useRef<HTMLDivElement>(null)
  const [failed, setFailed] = useState(false)
  const theme = useThemeChange()
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    let plot: uPlot | undefined
    let isCurrent = true
    draw(element, usage, format).then(
      (drawn) => {
        if (isCurrent) plot = drawn
        else drawn.destroy()
      },
      () => setFailed(true)
    )
    const resized = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }))
    resized.observe(element)
    return () => {
      isCurrent = false
      resized.disconnect()
      plot?.destroy()
    }
  }, [usage, format, theme])
  return (
    <>
      {failed ? <LoadProblem /> : <div class="chart" ref={frame} aria-hidden="true" />}
      <details class="figures">
        <summary>{texts.usage.asTable}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be focusable */}
        <section class="scroll" tabIndex={0} aria-label={texts.usage.asTable}>
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{texts.usage.day}</th>
                <th scope="col" class="number">
                  {texts.usage.requests}
                </th>
                <th scope="col" class="number">
                  {texts.usage.tokens}
                </th>
                <th scope="col" class="number">
                  {texts.usage.cost}
                </th>
              </tr>
            </thead>
            <tbody>
              {usage.days.map((day) => (
                <tr key={day.date}>
                  <th scope="row">{format.day(day.date)}</th>
                  <td class="number">{format.count(day.requests)}</td>
                  <td class="number">{format.count(day.total_tokens)}</td>
                  <td class="number">{format.cost(day.display_cost_usd_micro)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
    </>
  )
}
