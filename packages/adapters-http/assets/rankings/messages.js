/**
 * Reads the texts of the page. The server writes the texts in the language of the page into the page.
 */

/** @type {Readonly<Record<string, string>>} */
const messages = JSON.parse(document.getElementById("messages")?.textContent ?? "{}")

/**
 * Returns a text, in which each `{name}` is replaced with the value of this name.
 * @param {string} key
 * @param {Readonly<Record<string, string>>} values
 */
export const text = (key, values = {}) =>
  (messages[key] ?? key).replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place)
