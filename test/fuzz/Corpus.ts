/**
 * The corpus keeps inputs that showed a fault or reached new code. `npm test` checks every input of the corpus. The
 * grammar fuzzer and the coverage fuzzer change these inputs.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

const CORPUS = resolve(import.meta.dirname, "corpus")
/** The folder of inputs that a run has found. They are not part of the repository. */
export const FOUND = resolve(import.meta.dirname, "../../.tollgate/fuzz")

export interface CorpusEntry {
  readonly name: string
  readonly bytes: Buffer
}

export const readCorpus = (target: string): ReadonlyArray<CorpusEntry> => {
  const folder = join(CORPUS, target)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .sort()
    .map((name) => ({ name, bytes: readFileSync(join(folder, name)) }))
}

export const saveInput = (target: string, kind: "finding" | "reached", bytes: Buffer): string => {
  const folder = join(FOUND, target)
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${kind}-${createHash("sha256").update(bytes).digest("hex").slice(0, 12)}`)
  writeFileSync(path, bytes)
  return path
}
