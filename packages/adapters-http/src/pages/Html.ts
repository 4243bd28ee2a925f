/**
 * Builds HTML from texts. A value in a template is escaped, unless it is HTML that this module has built. The name of a
 * model or the path of a request is therefore never read as HTML.
 */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => escapes[character] ?? "")

type Value = string | Html | ReadonlyArray<Html>

const rendered = (value: Value): string => {
  if (value instanceof Html) return value.text
  return typeof value === "string" ? escaped(value) : value.map(({ text }) => text).join("")
}

/** A template of HTML: html`<p>${name}</p>`. */
export const html = (parts: TemplateStringsArray, ...values: ReadonlyArray<Value>): Html =>
  new Html(parts.reduce((text, part, i) => text + rendered(values[i - 1] ?? "") + part))
