/**
 * Runs accessibility checks inside the rankings page.
 */
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import type { Page } from "playwright-core"

export interface Contrast {
  readonly what: string
  readonly ratio: number
}

/** Compares each text colour with its background, and each chart colour with its panel. */
export const contrast = (
  page: Page
): Promise<{ readonly texts: ReadonlyArray<Contrast>; readonly marks: ReadonlyArray<Contrast> }> =>
  page.evaluate(() => {
    const probe = document.body.appendChild(document.createElement("span"))
    const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true })
    const luminance = (token: string): number => {
      if (pen === null) return 0
      probe.style.color = `var(${token})`
      pen.fillStyle = getComputedStyle(probe).color
      pen.fillRect(0, 0, 1, 1)
      const [r = 0, g = 0, b = 0] = [...pen.getImageData(0, 0, 1, 1).data].map((byte) => {
        const part = byte / 255
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
      })
      return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    const pair = (front: string, back: string) => {
      const [darker = 0, lighter = 0] = [luminance(front), luminance(back)].sort((a, b) => a - b)
      return { what: `${front} on ${back}`, ratio: (lighter + 0.05) / (darker + 0.05) }
    }
    const texts = ["--ink", "--muted", "--up", "--down"].flatMap((token) =>
      ["--page", "--surface", "--hover"].map((back) => pair(token, back))
    )
    const series = [1, 2, 3, 4, 5, 6, 7, 8, "other"].map((key) => pair(`--series-${key}`, "--surface"))
    return {
      texts: [...texts, pair("--on-accent", "--accent")],
      marks: [...series, pair("--accent", "--surface"), pair("--accent", "--page")]
    }
  })

/** Returns the levels of the visible headings, in document order. */
export const headingsOf = (page: Page): Promise<ReadonlyArray<number>> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("h1, h2, h3, h4, h5, h6")]
      .filter((heading) => heading.checkVisibility())
      .map(({ tagName }) => Number(tagName.slice(1)))
  )

/** Returns the HTML of the controls that have no accessible name. */
export const namelessControls = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(() => {
    const nameOf = (control: HTMLElement): string => {
      const labels = control instanceof HTMLInputElement ? [...(control.labels ?? [])] : []
      return [control.getAttribute("aria-label"), control.textContent, ...labels.map((label) => label.textContent)]
        .map((words) => words?.trim() ?? "")
        .join("")
    }
    return [...document.querySelectorAll<HTMLElement>("a, button, input, summary, [tabindex='0'], [role='slider']")]
      .filter((control) => nameOf(control) === "")
      .map(({ outerHTML }) => outerHTML)
  })
