/**
 * Writes HTML. Text is escaped, so that no text of the OpenAPI document is read as HTML.
 */

/** HTML that is inserted into other HTML without escaping. */
export interface Markup {
  readonly html: string
}

type Part = Markup | string | number | undefined | ReadonlyArray<Markup>

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "")

const rendered = (part: Part): string => {
  if (part === undefined) return ""
  if (typeof part === "string" || typeof part === "number") return escaped(String(part))
  return "html" in part ? part.html : part.map(({ html }) => html).join("")
}

/** Builds HTML from a template. Every inserted text is escaped. */
export const html = (texts: TemplateStringsArray, ...parts: ReadonlyArray<Part>): Markup => ({
  html: texts.map((text, i) => text + rendered(parts[i])).join("")
})

/** Renders the text of a description: code between backticks, and paragraphs between empty lines. */
export const prose = (text: string): Markup => ({
  html: text
    .split("\n\n")
    .map((paragraph) => `<p>${inlineHtml(paragraph)}</p>`)
    .join("")
})

/** Renders text with code between backticks. */
export const inline = (text: string): Markup => ({ html: inlineHtml(text) })

const inlineHtml = (text: string): string => escaped(text).replace(/`([^`]+)`/g, "<code>$1</code>")

/** Makes the fragment identifier of a name. */
export const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
