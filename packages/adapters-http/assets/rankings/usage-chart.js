/**
 * Draws the chart of stacked columns. In each column, the bars are the running totals of the series. The largest bar is
 * drawn first, and each smaller bar covers the lower part of the larger bar before it. Therefore only the part of the
 * larger bar that belongs to its own series stays visible.
 */
import { isCut } from "./feed.js"
import { axisLabel, tick } from "./format.js"

/** @typedef {import("./feed.js").Rankings} Rankings */
/** @typedef {import("./feed.js").Series} Series */

const TICK_WIDTH = 64

export class UsageChart {
  /** @type {HTMLElement} */
  #frame
  /** @type {(index: number | null) => void} */
  #onSelect
  /** @type {uPlot | null} */
  #plot = null
  #column = document.createElement("div")
  /** @type {Series | null} */
  #series = null
  /** True for each column that `isCut` selects. @type {ReadonlyArray<boolean>} */
  #cut = []
  /** @type {(name: string) => string} */
  #colourClassOf = () => ""
  /** @type {number | null} */
  #selected = null

  /** @param {HTMLElement} frame @param {(index: number | null) => void} onSelect */
  constructor(frame, onSelect) {
    this.#frame = frame
    this.#onSelect = onSelect
    this.#column.className = "column"
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(frame)
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw())
    frame.addEventListener("keydown", (event) => this.#onKey(event))
    frame.addEventListener("blur", () => this.select(null))
  }

  /** @param {Rankings} rankings @param {(name: string) => string} colourClassOf */
  show({ series, range }, colourClassOf) {
    const sameColumns = this.#series?.points[0]?.start === series.points[0]?.start
    this.#series = series
    this.#cut = series.points.map((point) => isCut(point, range))
    this.#colourClassOf = colourClassOf
    if (!sameColumns) this.#selected = null
    this.#draw()
  }

  /** The index of the selected column, or null if no column is selected. */
  get selected() {
    return this.#selected
  }

  /** @param {number | null} index */
  select(index) {
    if (index === this.#selected) return
    this.#selected = index
    this.#placeColumn()
    this.#onSelect(index)
  }

  #size() {
    return { width: this.#frame.clientWidth, height: this.#frame.clientHeight }
  }

  #draw() {
    this.#plot?.destroy()
    this.#plot = null
    const series = this.#series
    // If the chart library is not loaded, only the chart is hidden. The table shows the same figures.
    this.#frame.hidden = typeof globalThis.uPlot !== "function"
    if (series === null || this.#frame.hidden || this.#frame.clientWidth === 0) return
    const { points, keys, bucket } = series
    // The value of a CSS variable is a pair of colours, for light and for dark. The computed colour of an element is
    // one of the two.
    const probe = document.createElement("span")
    this.#frame.append(probe)
    const token = (/** @type {string} */ name) => {
      probe.style.color = `var(${name})`
      return getComputedStyle(probe).color
    }
    const surface = token("--surface")
    const axis = {
      stroke: token("--muted"),
      font: `12px ${getComputedStyle(document.body).fontFamily}`,
      ticks: { show: false }
    }
    const bars = /** @type {uPlot.Series.BarsPathBuilderFactory} */ (uPlot.paths.bars)
    const paths = bars({ size: [0.82, 64], radius: 0 })
    const part = (/** @type {string} */ colour) => ({
      paths,
      fill: token(colour),
      stroke: surface,
      width: points.length > 40 ? 0.5 : 1,
      points: { show: false }
    })
    const stack = runningTotals(series)
    this.#plot = new uPlot(
      {
        ...this.#size(),
        padding: [12, 14, 0, 0],
        legend: { show: false },
        cursor: { x: false, y: false, points: { show: false }, drag: { x: false, y: false, setScale: false } },
        scales: {
          x: { time: false, range: () => [-0.5, points.length - 0.5] },
          y: { range: (_, __, max) => [0, Math.max(max, 1) * 1.04] }
        },
        axes: [
          {
            ...axis,
            grid: { show: false },
            size: 28,
            splits: (plot) => spread(points.length, plot.width / TICK_WIDTH),
            values: (_, at) => at.map((i) => tick(bucket, points[i]?.start ?? ""))
          },
          {
            ...axis,
            size: 48,
            grid: { stroke: token("--line"), width: 1 },
            values: (_, at) => at.map(axisLabel)
          }
        ],
        series: [
          {},
          part("--series-other"),
          ...keys.map((key) => part(this.#colourClassOf(key).replace("mark", "--series"))).reverse()
        ],
        hooks: {
          ready: [(plot) => this.#listen(plot)],
          draw: [(plot) => shadeCut(plot, this.#cut, surface)],
          setSize: [() => this.#placeColumn()]
        }
      },
      [points.map((_, i) => i), ...stack.reverse()],
      this.#frame
    )
    probe.remove()
    this.#placeColumn()
  }

  /** @param {uPlot} plot */
  #listen(plot) {
    plot.over.append(this.#column)
    const under = (/** @type {PointerEvent} */ event) => {
      const { left } = plot.over.getBoundingClientRect()
      const index = Math.round(plot.posToVal(event.clientX - left, "x"))
      this.select(Math.max(0, Math.min(plot.data[0].length - 1, index)))
    }
    plot.over.addEventListener("pointermove", under)
    plot.over.addEventListener("pointerdown", under)
    plot.over.addEventListener("pointerleave", () => this.select(null))
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const last = (this.#series?.points.length ?? 0) - 1
    const now = this.#selected
    /** @type {Record<string, () => number | null>} */
    const moves = {
      ArrowLeft: () => (now === null ? last : Math.max(0, now - 1)),
      ArrowDown: () => (now === null ? last : Math.max(0, now - 1)),
      ArrowRight: () => (now === null ? 0 : Math.min(last, now + 1)),
      ArrowUp: () => (now === null ? 0 : Math.min(last, now + 1)),
      Home: () => 0,
      End: () => last,
      Escape: () => null
    }
    const move = moves[event.key]
    if (move === undefined || last < 0) return
    event.preventDefault()
    this.select(move())
  }

  #placeColumn() {
    const plot = this.#plot
    const index = this.#selected
    this.#column.hidden = plot === null || index === null
    if (plot === null || index === null) return
    const left = plot.valToPos(index - 0.5, "x")
    this.#column.style.left = `${left}px`
    this.#column.style.width = `${plot.valToPos(index + 0.5, "x") - left}px`
  }
}

/**
 * Returns one row of running totals for each key, and a last row with the totals of all models.
 * @param {Series} series
 */
const runningTotals = ({ keys, points }) => {
  const below = points.map(() => 0)
  const rows = keys.map((key) => points.map((point, i) => (below[i] = (below[i] ?? 0) + (point.values[key] ?? 0))))
  return [...rows, points.map((point, i) => (below[i] ?? 0) + point.other)]
}

/**
 * Returns the indexes of evenly spaced columns that get a label.
 * @param {number} count the number of columns
 * @param {number} room the number of labels for which there is space
 */
const spread = (count, room) => {
  const step = Math.max(1, Math.ceil(count / Math.max(1, Math.floor(room))))
  return Array.from({ length: Math.ceil(count / step) }, (_, i) => i * step)
}

/** Draws the cut columns paler. @param {uPlot} plot @param {ReadonlyArray<boolean>} cut @param {string} surface */
const shadeCut = (plot, cut, surface) => {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.fillStyle = surface
  ctx.globalAlpha = 0.5
  cut.forEach((isCut, i) => {
    if (!isCut) return
    const left = plot.valToPos(i - 0.5, "x", true)
    const right = plot.valToPos(i + 0.5, "x", true)
    const top = plot.valToPos(plot.data[1]?.[i] ?? 0, "y", true)
    ctx.fillRect(left, top, right - left, bbox.top + bbox.height - top)
  })
  ctx.restore()
}
