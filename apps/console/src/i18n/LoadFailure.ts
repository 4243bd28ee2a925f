/**
 * The message of a page whose texts could not be loaded. It is in both languages, because no table of texts is loaded.
 */
const lines = [
  ["id", "Konsol tidak dapat dimuat. Periksa koneksi Anda, lalu muat ulang halaman."],
  ["en", "The console could not be loaded. Check your connection, then reload the page."]
] as const

export const showLoadFailure = (root: HTMLElement): void => {
  for (const [language, text] of lines) {
    const line = document.createElement("p")
    line.lang = language
    line.setAttribute("role", "alert")
    line.textContent = text
    root.append(line)
  }
}
