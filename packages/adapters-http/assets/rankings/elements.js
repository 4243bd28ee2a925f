/**
 * Creates HTML elements. Strings are inserted as text and never as markup, because model names are untrusted.
 *
 * @typedef {Node | string | null | undefined} Child
 */
import { exactly } from "./format.js"
import { text } from "./messages.js"

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string>} attributes
 * @param {ReadonlyArray<Child>} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  for (const child of children) if (child !== null && child !== undefined) made.append(child)
  return made
}

/** @param {string} id */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id))

/**
 * Creates a bar that is filled to `part`. Screen readers skip the bar, because they read the number beside it.
 * @param {number} part from 0 to 1
 * @param {string} mark the CSS class of the colour
 */
export const track = (part, mark = "") => {
  const filled = element("i", mark === "" ? {} : { class: mark })
  filled.style.width = `${Math.max(0, Math.min(1, part)) * 100}%`
  return element("span", { class: "track", "aria-hidden": "true" }, filled)
}

/** @param {string} mark the CSS class of the colour */
export const swatch = (mark = "") => element("span", { class: `swatch ${mark}`, "aria-hidden": "true" })

/**
 * Creates an element that shows the change of a figure with an arrow and a colour, and with a word for screen readers.
 * @param {{ change_pct: number | null, is_new: boolean }} moved
 */
export const change = ({ change_pct: percent, is_new: isNew }) => {
  if (isNew) return element("span", { class: "tag" }, text("change.new"))
  if (percent === null) return element("span", { class: "same" }, "–")
  const [kind = "", arrow = ""] = percent > 0 ? ["up", "▲"] : percent < 0 ? ["down", "▼"] : ["same", ""]
  const figure = `${exactly(Math.abs(percent))}%`
  return element(
    "span",
    { class: `change ${kind}` },
    element("span", { class: "unseen" }, `${text(`change.${kind}`)} `),
    element("span", { "aria-hidden": "true" }, arrow === "" ? "" : `${arrow} `),
    figure
  )
}
