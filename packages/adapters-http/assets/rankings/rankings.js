/**
 * The rankings page: shows the window the reader chose, and keeps it fresh while somebody looks.
 */
import { byId, change } from "./elements.js"
import { addressOf, Disabled, read } from "./feed.js"
import { showAuthors, showFastest, showLeaders, showReadout, showTrending, showUsageTable } from "./lists.js"
import { Marks } from "./marks.js"
import { UsageChart } from "./usage-chart.js"
import { about, calendarDate, exactly, localTime, windows } from "./words.js"

/** @typedef {import("./feed.js").Rankings} Rankings */
/** @typedef {import("./feed.js").Window} Window */

const FRESH_MILLIS = 60_000

const main = byId("main")
const form = /** @type {HTMLFormElement} */ (byId("windows"))
const marks = new Marks()
const chart = new UsageChart(byId("chart"), (index) => shown !== null && tellReadout(shown, index))

/** @type {Rankings | null} */
let shown = null
let asked = new AbortController()
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer

/** @returns {Window} */
const chosen = () => /** @type {Window} */ (new FormData(form).get("window"))

const markOf = (/** @type {string} */ name) => marks.of(name)

/** @param {Rankings} rankings @param {number | null} index */
const tellReadout = (rankings, index) => {
  const { span } = words(rankings.window)
  showReadout(rankings, markOf, index, span.charAt(0).toUpperCase() + span.slice(1))
}

const words = (/** @type {string} */ window) => windows[window] ?? { span: "", before: "" }

/** @param {"loading" | "ready" | "empty" | "error" | "disabled"} state */
const setState = (state) => {
  main.dataset.state = state
}

/** @param {string} title @param {string} text @param {boolean} retry */
const notice = (title, text, retry = false) => {
  byId("notice-title").textContent = title
  byId("notice-text").textContent = text
  byId("again").hidden = !retry
  byId("notice").hidden = false
}

const tell = (/** @type {string} */ text) => {
  byId("announcement").textContent = text
}

/** @param {Rankings} rankings */
const showTotal = ({ totals, window }) => {
  const { span, before } = words(window)
  const total = byId("total")
  total.textContent = exactly(totals.tokens)
  total.style.setProperty("--characters", String(total.textContent.length))
  const previous = totals.previous_tokens
  const said = byId("total-said")
  said.replaceChildren(`tokens ${span}`)
  if (previous === null || previous === 0 || before === "") return
  const percent = Math.round(((totals.tokens - previous) / previous) * 100)
  said.append(" · ", change({ change_pct: percent, is_new: false }), ` on ${before}`)
}

/** @param {Rankings} rankings */
const show = (rankings) => {
  shown = rankings
  byId("notice").hidden = true
  marks.show(rankings.series.keys)
  showTotal(rankings)
  const since = rankings.range.data_since
  const counted = since === null ? "" : ` Counted since ${calendarDate(since)}.`
  byId("freshness").textContent =
    `As of ${localTime(rankings.range.to)} on your clock; a new count every minute.${counted}`
  if (rankings.totals.tokens === 0) {
    setState("empty")
    notice("Nothing counted yet", `No tokens were used ${words(rankings.window).span}. This page fills by itself.`)
    return
  }
  // Before the chart, which takes its size from the page.
  setState("ready")
  showLeaders(rankings, markOf)
  showAuthors(rankings)
  showTrending(rankings)
  showFastest(rankings)
  showUsageTable(rankings)
  chart.show(rankings.series, markOf)
  tellReadout(rankings, chart.selected)
}

/** @param {unknown} failure @param {Window} window */
const showFailure = (failure, window) => {
  if (failure instanceof Disabled) {
    shown = null
    setState("disabled")
    notice("Rankings are not published here", "The operator of this service keeps its usage figures private.")
  } else if (shown?.window === window) {
    const when = localTime(shown.range.to)
    notice("These figures are not fresh", `They are of ${when}; newer ones could not be read just now.`, true)
  } else {
    shown = null
    setState("error")
    notice("The rankings cannot be read just now", "Usage is counted all the same. Try again in a minute.", true)
  }
}

/** @param {Rankings} rankings */
const announce = ({ totals, window, leaderboard: [first] }) => {
  const leader = first === undefined ? "" : ` ${first.display_name} leads.`
  tell(`${about(totals.tokens)} tokens ${words(window).span}.${leader}`)
}

/**
 * Reads the chosen window, shows it, and comes back in a minute.
 * @param {boolean} announced
 * @param {RequestCache} cache whether what the browser has of the last minute will do
 */
const refresh = async (announced, cache = "no-cache") => {
  clearTimeout(timer)
  asked.abort()
  asked = new AbortController()
  const { signal } = asked
  const window = chosen()
  main.setAttribute("aria-busy", "true")
  const rankings = await read(window, signal, cache).catch((failure) => {
    if (!signal.aborted) showFailure(failure, window)
  })
  if (signal.aborted) return
  if (rankings === undefined) tell(byId("notice-title").textContent ?? "")
  else {
    show(rankings)
    if (announced) announce(rankings)
  }
  main.removeAttribute("aria-busy")
  timer = setTimeout(() => document.visibilityState === "visible" && refresh(false), FRESH_MILLIS)
}

const nameAddress = () => {
  byId("feed").setAttribute("href", addressOf(chosen()))
}

const wanted = new URLSearchParams(location.search).get("window")
const option = form.querySelector(`input[value="${CSS.escape(wanted ?? "week")}"]`)
if (option instanceof HTMLInputElement) option.checked = true
nameAddress()

form.addEventListener("submit", (event) => event.preventDefault())
form.addEventListener("change", () => {
  history.replaceState(null, "", `?window=${chosen()}`)
  nameAddress()
  void refresh(true, "default")
})
byId("again").addEventListener("click", () => void refresh(true))
document.addEventListener("visibilitychange", () => {
  const late = shown === null || Date.now() - Date.parse(shown.generated_at) > FRESH_MILLIS
  if (document.visibilityState === "visible" && late) void refresh(false)
})
void refresh(false, "default")
