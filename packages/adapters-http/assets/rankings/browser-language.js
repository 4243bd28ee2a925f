/**
 * Corrects the language of the browser before the chart library reads it. A browser that runs in the POSIX locale
 * reports `en-US@posix`, which is not a valid language tag. The library would then throw an exception when it is
 * loaded.
 */
try {
  Intl.getCanonicalLocales(navigator.language)
} catch {
  Object.defineProperty(navigator, "language", { value: document.documentElement.lang, configurable: true })
}
