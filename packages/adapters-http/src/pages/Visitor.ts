/**
 * Decides whether a request comes from a person at a browser, who gets pages, or from a program, which gets JSON; and
 * which language the person reads.
 */
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"

export type Language = "id" | "en"

/**
 * Returns whether the client wants HTML. Browsers name `text/html` when a person opens a page, and never name JSON
 * there. A program that accepts everything, like curl, gets JSON.
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

/** Returns the language of the query parameter `lang`, else the first known one of the browser, else Indonesian. */
export const languageOf = ({ headers, originalUrl }: HttpServerRequest): Language => {
  const [, selected = ""] = /[?&]lang=([a-z]+)/.exec(originalUrl) ?? []
  const accepted = (headers["accept-language"] ?? "").split(",").map(languageIn)
  return languageIn(selected) ?? accepted.find((language) => language !== undefined) ?? "id"
}
