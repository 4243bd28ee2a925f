/**
 * The message of a page whose texts could not be loaded, or in a browser that allows this site to store no data. It is
 * in both languages, because no table of texts is loaded.
 */
const lines = [
  [
    "id",
    "Konsol tidak dapat dimuat. Periksa koneksi Anda dan izinkan situs ini menyimpan data, lalu muat ulang halaman."
  ],
  [
    "en",
    "The console could not be loaded. Check your connection and allow this site to store data, then reload the page."
  ]
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
