/**
 * Finds the shell commands in docs/operations.md, so that tests run the commands that a reader runs.
 */
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"

const ROOT = resolve(import.meta.dirname, "../..")

const sectionOf = (heading: string): string => {
  const page = readFileSync(join(ROOT, "docs/operations.md"), "utf8")
  const [, section] = page.split(`\n### ${heading}\n`)
  if (section === undefined) throw new Error(`docs/operations.md has no section "${heading}"`)
  return section.split(/\n#{2,3} /)[0] ?? ""
}

export const commandsBelow = (heading: string): ReadonlyArray<string> =>
  [...sectionOf(heading).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, commands = ""]) => commands)

/** Fails if a text does not occur, because the document has then changed. */
export const replaced = (commands: string, replacements: ReadonlyArray<readonly [from: string, to: string]>): string =>
  replacements.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the commands do not contain: ${from}`)
    return text.replaceAll(from, to)
  }, commands)
