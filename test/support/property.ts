/**
 * Registers property tests. `property("costs add up", [arbitrary], holds)` checks that `holds` returns true for 500
 * random inputs.
 */
import { FastCheck } from "effect"
import { it } from "vitest"

export const property = <Inputs extends [unknown, ...Array<unknown>]>(
  sentence: string,
  inputs: { [I in keyof Inputs]: FastCheck.Arbitrary<Inputs[I]> },
  holds: (...values: Inputs) => boolean,
  runs = 500
): void => {
  it(sentence, () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.tuple(...inputs) as FastCheck.Arbitrary<Inputs>, (values) => holds(...values)),
      { numRuns: runs }
    )
  })
}
