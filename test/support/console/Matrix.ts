import type { VisitorOptions } from "./Visitor.ts"

type Combination = Required<VisitorOptions>

/** Both languages, in both themes, on a telephone and on a desktop. */
const matrix: ReadonlyArray<Combination> = (["id", "en"] as const).flatMap((language) =>
  (["light", "dark"] as const).flatMap((theme) =>
    (["phone", "desktop"] as const).map((device) => ({ language, theme, device }))
  )
)

const phone: Combination = { language: "id", theme: "light", device: "phone" }
const desktop: Combination = { language: "en", theme: "dark", device: "desktop" }

/** Returns the first `count` of two different combinations, or all combinations in `npm run console:matrix`. */
export const combinations = (count: 1 | 2): ReadonlyArray<Combination> =>
  process.env.CONSOLE_MATRIX === "all" ? matrix : [phone, desktop].slice(0, count)
