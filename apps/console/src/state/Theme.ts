/**
 * Stores the colour theme that the user selected. The attribute `data-theme` of the root element overrides the theme of
 * the device.
 */
import { atom } from "nanostores"

export type Theme = "system" | "light" | "dark"
export const themes: ReadonlyArray<Theme> = ["system", "light", "dark"]

const STORED_AS = "tollgate.theme"

export const $theme = atom<Theme>("system")

const apply = (theme: Theme): void => {
  if (theme === "system") delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  $theme.set(theme)
}

export const startTheme = (): void => {
  const stored = localStorage.getItem(STORED_AS)
  apply(stored === "light" || stored === "dark" ? stored : "system")
}

export const setTheme = (theme: Theme): void => {
  localStorage.setItem(STORED_AS, theme)
  apply(theme)
}
