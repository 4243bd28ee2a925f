/**
 * Decides whether a request gets a page or JSON. Also selects the language of the pages.
 */
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"

export type Language = "id" | "en"

/**
 * Returns true for a GET or HEAD request whose header `accept` contains `text/html` and not `application/json`. A
 * browser sends such a request when a person opens a page. A program that accepts every media type, such as curl, gets
 * JSON.
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
 * Returns the language that the query parameter `lang` selects in lower case (`id` or `en`). If it selects none,
 * returns the first supported language in the header `accept-language`, whose weights (`q`) are ignored. If there is
 * none, returns Indonesian.
 */
export const languageOf = ({ headers, originalUrl }: HttpServerRequest): Language => {
  const [, selected = ""] = /[?&]lang=([a-z]+)/.exec(originalUrl) ?? []
  const accepted = (headers["accept-language"] ?? "").split(",").map(languageIn)
  return languageIn(selected) ?? accepted.find((language) => language !== undefined) ?? "id"
}
