/**
 * Records what a test or a program has counted, so that `npm run proof` can print it in docs/proof.md. Nothing is
 * recorded unless the environment variable PROOF_FIGURES contains the path of a file.
 */
import { appendFileSync } from "node:fs"

export type Figures = Readonly<Record<string, string | number | bigint>>

/** Records figures. `npm run proof` shows the figure `{ "servers killed": 1_000 }` as `servers killed: 1000`. */
export const recordFigures = (figures: Figures): void => {
  const file = process.env.PROOF_FIGURES
  if (file === undefined) return
  const texts = Object.entries(figures).map(([name, value]) => [name, String(value)])
  appendFileSync(file, `${JSON.stringify(Object.fromEntries(texts))}\n`)
}

/** The rest of the time limit of `npm run proof`; infinite without a time limit. */
export const proofMillis = (): number => Number(process.env.PROOF_UNTIL ?? Number.POSITIVE_INFINITY) - Date.now()

export const isProofOver = (): boolean => proofMillis() <= 0
