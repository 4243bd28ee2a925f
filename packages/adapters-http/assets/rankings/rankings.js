/**
 * Runs the rankings page: shows the rankings of the selected window, and refreshes them every minute while the page is
 * visible.
 */
import { byId, change } from "./elements.js"
import { addressOf, Disabled, read, totalChange } from "./feed.js"
import { about, calendarDate, exactly, localTime, windowWords } from "./format.js"
import { showAuthors, showFastest, showLeaders, showReadout, showTrending, showUsageTable } from "./lists.js"
import { text } from "./messages.js"
import { ModelColours } from "./model-colours.js"
import { UsageChart } from "./usage-chart.js"

/** @typedef {import("./feed.js").Rankings} Rankings */
/** @typedef {import("./feed.js").Window} Window */

const REFRESH_MILLIS = 60_000

const main = byId("main")
const form = /** @type {HTMLFormElement} */ (byId("windows"))
const colours = new ModelColours()
const chart = new UsageChart(byId("chart"), (index) => shown !== null && updateReadout(shown, index))

/** @type {Rankings | null} */
let shown = null
/**
 * The time at which `shown` has arrived, by the clock of the device. The times in `shown` are not compared with this
 * clock, because it can be wrong by hours.
 */
let arrivedAtMillis = 0
let pending = new AbortController()
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer

/** @returns {Window} */
const chosen = () => /** @type {Window} */ (new FormData(form).get("window"))

const colourClassOf = (/** @type {string} */ name) => colours.classOf(name)

/** @param {Rankings} rankings @param {number | null} index */
const updateReadout = (rankings, index) => {
  const { span } = windowWords(rankings.window)
  showReadout(rankings, colourClassOf, index, span.charAt(0).toUpperCase() + span.slice(1))
}

/** @param {"loading" | "ready" | "empty" | "error" | "disabled"} state */
const setState = (state) => {
  main.dataset.state = state
}

/**
 * Shows a notice whose texts have this key.
 * @param {"empty" | "disabled" | "stale" | "error"} key
 * @param {Readonly<Record<string, string>>} values
 * @param {boolean} retry
 */
const notice = (key, values = {}, retry = false) => {
  byId("notice-title").textContent = text(`${key}.title`)
  byId("notice-text").textContent = text(`${key}.text`, values)
  byId("again").hidden = !retry
  byId("notice").hidden = false
}

const announceText = (/** @type {string} */ words) => {
  byId("announcement").textContent = words
}

/** @param {Rankings} rankings */
const showTotal = ({ totals, window }) => {
  const { span, before } = windowWords(window)
  const total = byId("total")
  total.textContent = exactly(totals.tokens)
  total.style.setProperty("--characters", String(total.textContent.length))
  const percent = totalChange(totals)
  const said = byId("total-said")
  said.replaceChildren(text("total.unit", { span }))
  if (percent === null || before === "") return
  said.append(" · ", change({ change_pct: percent, is_new: false }), ` ${text("total.from", { before })}`)
}

/** @param {Rankings} rankings */
const show = (rankings) => {
  shown = rankings
  arrivedAtMillis = Date.now()
  byId("notice").hidden = true
  colours.show(rankings.series.keys)
  showTotal(rankings)
  const since = rankings.range.data_since
  const time = text("footer.time", { time: localTime(rankings.range.to) })
  byId("freshness").textContent =
    since === null ? time : `${time} ${text("footer.since", { date: calendarDate(since) })}`
  if (rankings.totals.tokens === 0) {
    setState("empty")
    notice("empty", { span: windowWords(rankings.window).span })
    return
  }
  // The state is set before the chart is drawn, because the state changes the layout, and the layout sets the chart's
  // size.
  setState("ready")
  showLeaders(rankings, colourClassOf)
  showAuthors(rankings)
  showTrending(rankings)
  showFastest(rankings)
  showUsageTable(rankings)
  chart.show(rankings, colourClassOf)
  updateReadout(rankings, chart.selected)
}

/** @param {unknown} failure @param {Window} window */
const showFailure = (failure, window) => {
  if (failure instanceof Disabled) {
    shown = null
    setState("disabled")
    notice("disabled")
  } else if (shown?.window === window) {
    notice("stale", { time: localTime(shown.range.to) }, true)
  } else {
    shown = null
    setState("error")
    notice("error", {}, true)
  }
}

/** @param {Rankings} rankings */
const announce = ({ totals, window, leaderboard: [first] }) => {
  const said = text("announcement", { tokens: about(totals.tokens), span: windowWords(window).span })
  announceText(first === undefined ? said : `${said} ${text("announcement.leader", { name: first.display_name })}`)
}

/**
 * Reads and shows the rankings of the selected window, and schedules the next refresh.
 * @param {boolean} announced true if the new figures are announced to screen readers
 * @param {RequestCache} cache states whether a response from the browser's cache may be used
 */
const refresh = async (announced, cache = "no-cache") => {
  clearTimeout(timer)
  pending.abort()
  pending = new AbortController()
  const { signal } = pending
  const window = chosen()
  main.setAttribute("aria-busy", "true")
  const rankings = await read(window, signal, cache).catch((failure) => {
    if (!signal.aborted) showFailure(failure, window)
  })
  if (signal.aborted) return
  if (rankings === undefined) announceText(byId("notice-title").textContent ?? "")
  else {
    show(rankings)
    if (announced) announce(rankings)
  }
  main.removeAttribute("aria-busy")
  timer = setTimeout(() => document.visibilityState === "visible" && refresh(false), REFRESH_MILLIS)
}

/** Writes the selected window into the link to the data and into the links to the languages of the page. */
const updateLinks = () => {
  byId("feed").setAttribute("href", addressOf(chosen()))
  for (const link of document.querySelectorAll("[data-language]")) {
    const language = link.getAttribute("data-language") ?? ""
    link.setAttribute("href", `?${new URLSearchParams({ lang: language, window: chosen() })}`)
    if (language === document.documentElement.lang) link.setAttribute("aria-current", "true")
  }
}

const wanted = new URLSearchParams(location.search).get("window")
const option = form.querySelector(`input[value="${CSS.escape(wanted ?? "week")}"]`)
if (option instanceof HTMLInputElement) option.checked = true
updateLinks()

form.addEventListener("submit", (event) => event.preventDefault())
form.addEventListener("change", () => {
  const parameters = new URLSearchParams(location.search)
  parameters.set("window", chosen())
  history.replaceState(null, "", `?${parameters}`)
  updateLinks()
  void refresh(true, "default")
})
byId("again").addEventListener("click", () => void refresh(true))
document.addEventListener("visibilitychange", () => {
  const late = shown === null || Date.now() - arrivedAtMillis > REFRESH_MILLIS
  if (document.visibilityState === "visible" && late) void refresh(false)
})
void refresh(false, "default")
