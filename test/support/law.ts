/**
 * A law that must hold for every input: `law("costs add up", arbitrary, (x) => ...)`.
 */
import { FastCheck } from "effect"
import { it } from "vitest"

/** Registers a test that tries the law on many random inputs. It breaks by being false. */
export const law = <Inputs extends [unknown, ...Array<unknown>]>(
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
