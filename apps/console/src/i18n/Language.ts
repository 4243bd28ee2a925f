/**
 * Stores the selected language and its texts. Except for the texts of the operator's pages, each language is a separate
 * file of the build, so the browser loads only the texts of a selected language.
 *
 * Each language has one such table of texts. A text is a string, or a function that inserts values into a string.
 * TypeScript checks that both tables have the same texts with the same parameters (docs/adr/0013-console.md).
 */
import { useStore } from "@nanostores/preact"
import { atom } from "nanostores"
import type { texts as english } from "./en.ts"

export type Texts = typeof english
export type Language = "id" | "en"

const STORED_AS = "tollgate.language"

const loaders: { readonly [L in Language]: () => Promise<{ readonly texts: Texts }> } = {
  id: () => import("./id.ts"),
  en: () => import("./en.ts")
}

/**
 * Returns the stored language. If none is stored, returns the first language of the browser for which the console has
 * texts, or Indonesian if the console has texts for none of them.
 */
const preferred = (): Language => {
  const stored = localStorage.getItem(STORED_AS)
  if (stored === "id" || stored === "en") return stored
  const known = navigator.languages
    .map((language) => language.slice(0, 2))
    .find((each) => each === "id" || each === "en")
  return known === "en" ? "en" : "id"
}

interface Loaded {
  readonly language: Language
  readonly texts: Texts
}

const $loaded = atom<Loaded | undefined>(undefined)

/** True if the texts of the language that the user selected last could not be loaded. */
export const $languageFailed = atom(false)

/** The language that was selected last. Its texts can arrive before the texts of an earlier selection. */
let wanted: Language | undefined

/** Loads the texts of a language. Fails if they cannot be loaded, unless the user has selected another language. */
const load = async (language: Language): Promise<void> => {
  wanted = language
  $languageFailed.set(false)
  const loading = loaders[language]().then(({ texts }) => texts)
  const texts = await loading.catch((error: unknown) => {
    if (wanted === language) throw error
  })
  if (texts === undefined || wanted !== language) return
  document.documentElement.lang = language
  $loaded.set({ language, texts })
}

export const startLanguage = (): Promise<void> => load(preferred())

export const setLanguage = (language: Language): Promise<void> => {
  localStorage.setItem(STORED_AS, language)
  return load(language).catch(() => $languageFailed.set(true))
}

const loaded = (): Loaded => {
  const value = $loaded.get()
  if (value === undefined) throw new Error("the texts are read before they are loaded")
  return value
}

/** Returns the user's language, for code that is not part of a component. */
export const languageNow = (): Language => loaded().language

export const useLanguage = (): Language => {
  useStore($loaded)
  return loaded().language
}

export const useTexts = (): Texts => {
  useStore($loaded)
  return loaded().texts
}
