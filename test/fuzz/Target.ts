/**
 * A fuzz target checks one part of the gateway with random inputs. An input is always a sequence of bytes, so every
 * target can check inputs from every engine, from the corpus and from the command line:
 *
 *     grammar ─▶ bytes ─▶ changes ─▶ check: throws if the input shows a fault
 *
 * A target takes the functions under test as its subject. A planted fault is the same target with a faulty subject
 * (`PlantedFaults.ts`).
 */
import { FastCheck } from "effect"
import { readCorpus } from "./Corpus.ts"
import { changed, changes } from "./Mutation.ts"

export type Check = (input: Buffer) => void | Promise<void>

export interface OpenTarget {
  /** Throws if the input shows a fault. Every exception is a finding. */
  readonly check: Check
  readonly close: () => Promise<void>
}

export interface FuzzTarget {
  /** The name of the target, which is also the name of its folder in the corpus. */
  readonly name: string
  /** Inputs of the target's grammar, without changes. */
  readonly grammar: FastCheck.Arbitrary<Buffer>
  /** Texts that changes insert, because they have a meaning for the target. */
  readonly words: ReadonlyArray<string>
  /** The number of random inputs that `npm test` checks. */
  readonly testInputs: number
  readonly open: () => Promise<OpenTarget>
}

/** Returns the `open` of a target that needs no server. */
export const pure = (check: Check) => async (): Promise<OpenTarget> => ({ check, close: async () => {} })

/** Inputs of the grammar and of the corpus, most of them with changes. */
export const inputsOf = ({ name, grammar, words }: FuzzTarget): FastCheck.Arbitrary<Buffer> => {
  const kept = readCorpus(name).map(({ bytes }) => bytes)
  const whole = kept.length === 0 ? grammar : FastCheck.oneof(grammar, FastCheck.constantFrom(...kept))
  const unchanged = FastCheck.constant([])
  return FastCheck.tuple(whole, FastCheck.oneof(unchanged, changes(words), changes(words))).map(([bytes, list]) =>
    list.reduce(changed, bytes)
  )
}

export function must(condition: boolean, finding: string): asserts condition {
  if (!condition) throw new Error(finding)
}

/** Compares the JSON texts of the values. */
export const mustEqual = (found: unknown, expected: unknown, what: string): void => {
  const [left, right] = [JSON.stringify(found), JSON.stringify(expected)]
  if (left !== right) throw new Error(`${what}: ${shown(left)} instead of ${shown(right)}`)
}

const shown = (text = "undefined"): string => (text.length > 400 ? `${text.slice(0, 400)}...` : text)
