/**
 * Runs a target with random inputs of its grammar and its corpus. An input that shows a fault is made smaller, as long
 * as a fault remains.
 */
import { FastCheck } from "effect"
import { type Check, type FuzzTarget, inputsOf, type OpenTarget } from "./Target.ts"

export interface Finding {
  readonly input: Buffer
  readonly message: string
}

export interface FuzzRun {
  readonly inputs: number
  readonly finding: Finding | undefined
}

/** Ends at the first finding. The same seed makes the same inputs. */
export const grammarRun = async (
  target: FuzzTarget,
  { check }: OpenTarget,
  seed: number,
  inputs: number
): Promise<FuzzRun> => {
  let checked = 0
  const property = FastCheck.asyncProperty(inputsOf(target), async (input) => {
    checked += 1
    await check(input)
  })
  const details = await FastCheck.check(property, { seed, numRuns: inputs, endOnFailure: true })
  if (!details.failed) return { inputs: checked, finding: undefined }
  const [input] = details.counterexample ?? [Buffer.alloc(0)]
  return { inputs: checked, finding: await smallest(check, input, messageOf(details.errorInstance)) }
}

const MAX_TRIES = 500

/** Removes ranges, from large to small, while the input shows a fault. A smaller input can show another fault. */
export const smallest = async (check: Check, input: Buffer, message: string): Promise<Finding> => {
  let found: Finding = { input, message }
  let tries = 0
  for (let length = Math.ceil(input.length / 2); length >= 1; length = length === 1 ? 0 : Math.ceil(length / 2)) {
    for (let at = 0; at < found.input.length && tries < MAX_TRIES; ) {
      const shorter = Buffer.concat([found.input.subarray(0, at), found.input.subarray(at + length)])
      const fault = await faultOf(check, shorter)
      tries += 1
      if (fault === undefined) at += length
      else found = { input: shorter, message: fault }
    }
  }
  return found
}

/** Returns the message of the fault that an input shows; undefined if there is none. */
export const faultOf = async (check: Check, input: Buffer): Promise<string | undefined> => {
  try {
    await check(input)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))
