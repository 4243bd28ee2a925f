/**
 * Decides whether a request comes from a browser, which gets pages, or from another program, which gets JSON. Also
 * selects the language of the pages.
 */
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"

export type Language = "id" | "en"

/**
 * Returns true for a request of a browser. When a person opens a page, the header `accept` of a browser names
 * `text/html` and not JSON. A program that accepts everything, like curl, gets JSON.
 */
export const wantsPage = ({ method, headers }: HttpServerRequest): boolean => {
  const accepted = headers.accept ?? ""
  const isRead = method === "GET" || method === "HEAD"
  return isRead && /(^|[\s,])text\/html\b/i.test(accepted) && !/\bapplication\/json\b/i.test(accepted)
}

const languageIn = (text: string): Language | undefined => {
  const [found] = /^(id|en)\b/i.exec(text.trim()) ?? []
  return found?.toLowerCase() as Language | undefined
}

/**
 * Returns the language of the query parameter `lang`. Without it, returns the first supported language that the browser
 * prefers, or Indonesian if there is none.
 */
export const languageOf = ({ headers, originalUrl }: HttpServerRequest): Language => {
  const [, selected = ""] = /[?&]lang=([a-z]+)/.exec(originalUrl) ?? []
  const accepted = (headers["accept-language"] ?? "").split(",").map(languageIn)
  return languageIn(selected) ?? accepted.find((language) => language !== undefined) ?? "id"
}
