/**
 * Draws the tables and lists of the page. Each exported function redraws one table or list from a rankings document.
 */
import { byId, change, element, swatch, track } from "./elements.js"
import { about, bucketName, exactly, percentOf, seconds, speed } from "./format.js"
import { text } from "./messages.js"
import { OTHER } from "./model-colours.js"

/** @typedef {import("./feed.js").Rankings} Rankings */
/** @typedef {(name: string) => string} ColourClassOf */

const LEADERS_AT_FIRST = 15
const FASTEST_AT_FIRST = 8

/**
 * Limits a list to its first items, and offers a button that shows all items. A redraw keeps the user's choice.
 * @param {string} id the id of the button
 * @param {number} atFirst the number of items that are shown first
 */
const foldable = (id, atFirst) => {
  let open = false
  return {
    /** @template Item @param {ReadonlyArray<Item>} items */
    shown: (items) => (open ? items : items.slice(0, atFirst)),
    /** @param {number} count @param {() => void} redraw */
    offer: (count, redraw) => {
      const button = byId(id)
      button.hidden = count <= atFirst
      button.textContent = open
        ? text("action.showFirst", { count: String(atFirst) })
        : text("action.showAll", { count: String(count) })
      button.setAttribute("aria-expanded", String(open))
      button.onclick = () => {
        open = !open
        redraw()
      }
    }
  }
}

const leadersFold = foldable("more-leaders", LEADERS_AT_FIRST)
const fastestFold = foldable("more-fastest", FASTEST_AT_FIRST)

/** @param {Rankings} rankings @param {ColourClassOf} colourClassOf */
export const showLeaders = (rankings, colourClassOf) => {
  const { leaderboard, other } = rankings
  const most = Math.max(leaderboard[0]?.tokens ?? 0, 1)
  const shown = leadersFold.shown(leaderboard)
  const rows = shown.map((leader) =>
    element(
      "tr",
      leader.rank === 1 ? { class: "first" } : {},
      element("td", { class: "place" }, String(leader.rank)),
      element(
        "th",
        { scope: "row" },
        element("span", { class: "model" }, leader.display_name),
        " ",
        element("span", { class: "author" }, leader.author),
        leader.listed ? null : " ",
        leader.listed
          ? null
          : element("span", { class: "tag", title: text("model.retiredTitle") }, text("model.retired")),
        element("span", { class: "slug" }, leader.public_name),
        track(leader.tokens / most, colourClassOf(leader.public_name))
      ),
      element(
        "td",
        { class: "number amount", title: text("model.tokens", { tokens: exactly(leader.tokens) }) },
        about(leader.tokens)
      ),
      element("td", { class: "number" }, change(leader))
    )
  )
  if (other.tokens > 0 && shown.length === leaderboard.length) {
    rows.push(
      element(
        "tr",
        {},
        element("td", { class: "place" }),
        element("th", { scope: "row" }, element("span", { class: "author" }, text("other.models"))),
        element(
          "td",
          { class: "number amount", title: text("model.tokens", { tokens: exactly(other.tokens) }) },
          about(other.tokens)
        ),
        element("td", { class: "number" })
      )
    )
  }
  byId("leaders-body").replaceChildren(...rows)
  leadersFold.offer(leaderboard.length, () => showLeaders(rankings, colourClassOf))
}

/**
 * Shows the authors. The style sheet colours an author by rank, because the colours in the chart are those of models.
 * @param {Rankings} rankings
 */
export const showAuthors = ({ authors }) => {
  byId("authors-bar").replaceChildren(
    ...authors.map(({ share_bp }) => {
      const piece = element("i")
      piece.style.flexBasis = `${share_bp / 100}%`
      return piece
    })
  )
  byId("authors").replaceChildren(
    ...authors.map(({ author, tokens, share_bp }) =>
      element(
        "li",
        {},
        swatch(),
        element("span", { class: "name" }, author),
        element("span", { class: "tokens", title: text("model.tokens", { tokens: exactly(tokens) }) }, about(tokens)),
        element("span", { class: "share" }, percentOf(share_bp))
      )
    )
  )
}

/** @param {Rankings} rankings */
export const showTrending = ({ trending }) =>
  byId("trending").replaceChildren(
    ...(trending.length === 0 ? [element("li", { class: "none" }, text("trending.none"))] : []),
    ...trending.map((model) =>
      element(
        "li",
        {},
        element(
          "span",
          { class: "name" },
          element("span", { class: "model" }, model.display_name),
          element("span", { class: "by" }, text("model.by", { author: model.author, tokens: about(model.tokens) }))
        ),
        change(model)
      )
    )
  )

/** @param {Rankings} rankings */
export const showFastest = (rankings) => {
  const { fastest } = rankings
  const most = Math.max(...fastest.map(({ tps_p50 }) => tps_p50), 1)
  const table = byId("fastest")
  table.hidden = fastest.length === 0
  byId("fastest-none").hidden = fastest.length > 0
  const row = (/** @type {import("./feed.js").Speed} */ model) => {
    const name = element(
      "div",
      { class: "speed" },
      element("span", { class: "model" }, model.display_name),
      " ",
      element("span", { class: "author" }, `${model.author} · ${model.samples_bucket}`),
      track(model.tps_p50 / most)
    )
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      element("td", { class: "number amount" }, speed(model.tps_p50)),
      element("td", { class: "number" }, seconds(model.ttft_p50_ms))
    )
  }
  byId("fastest-body").replaceChildren(...fastestFold.shown(fastest).map(row))
  fastestFold.offer(fastest.length, () => showFastest(rankings))
}

/**
 * Shows the figures beside the chart.
 * @param {Rankings} rankings
 * @param {ColourClassOf} colourClassOf
 * @param {number | null} index the column whose figures are shown, or null for the whole window
 * @param {string} whole the name of the whole window
 */
export const showReadout = ({ series, leaderboard, totals }, colourClassOf, index, whole) => {
  const { keys, points, bucket } = series
  const names = new Map(leaderboard.map(({ public_name, display_name }) => [public_name, display_name]))
  const chosen = index === null ? points : points.slice(index, index + 1)
  const of = (/** @type {string} */ key) => chosen.reduce((sum, point) => sum + (point.values[key] ?? 0), 0)
  const other = chosen.reduce((sum, point) => sum + point.other, 0)
  const total = index === null ? totals.tokens : keys.reduce((sum, key) => sum + of(key), other)
  const point = index === null ? undefined : points[index]
  const when = point === undefined ? whole : bucketName(bucket, point)
  byId("readout-when").textContent = when
  byId("readout-total").textContent = about(total)
  const line = (/** @type {string} */ mark, /** @type {string} */ name, /** @type {number} */ tokens) =>
    element(
      "li",
      {},
      swatch(mark),
      element("span", { class: "name", title: name }, name),
      element("span", tokens === 0 ? { class: "nothing" } : { class: "amount" }, about(tokens))
    )
  const lines = keys.map((key) => line(colourClassOf(key), names.get(key) ?? key, of(key)))
  byId("readout").replaceChildren(...lines, line(OTHER, text("other.short"), other))
  const slider = byId("chart")
  slider.setAttribute("aria-valuemax", String(Math.max(0, points.length - 1)))
  slider.setAttribute("aria-valuenow", String(index ?? 0))
  const first = names.get([...keys].sort((a, b) => of(b) - of(a))[0] ?? "")
  const leader = first === undefined ? "" : `; ${text("readout.leader", { name: first })}`
  slider.setAttribute("aria-valuetext", text("readout", { when, tokens: about(total) }) + leader)
}

/** @param {Rankings} rankings */
export const showUsageTable = ({ series: { bucket, keys, points }, leaderboard }) => {
  const names = new Map(leaderboard.map(({ public_name, display_name }) => [public_name, display_name]))
  const heading = (/** @type {string} */ name) => element("th", { scope: "col", class: "number" }, name)
  const cell = (/** @type {number} */ tokens) => element("td", { class: "number" }, exactly(tokens))
  const head = element(
    "tr",
    {},
    element("th", { scope: "col" }, text(`bucket.${bucket}`)),
    ...keys.map((key) => heading(names.get(key) ?? key)),
    heading(text("other.short")),
    heading(text("column.total"))
  )
  const rows = points.map((point) => {
    const values = keys.map((key) => point.values[key] ?? 0)
    const total = values.reduce((sum, tokens) => sum + tokens, point.other)
    const name = element("th", { scope: "row" }, bucketName(bucket, point))
    return element("tr", {}, name, ...values.map(cell), cell(point.other), cell(total))
  })
  byId("usage-table").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows))
}
