import { DeliveredText } from "@tollgate/application/inference/DeliveredText"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

interface Piece {
  readonly choice: number
  readonly text: string
}

const frames = FastCheck.array(
  FastCheck.array(
    FastCheck.record({ choice: FastCheck.nat(3), text: FastCheck.string({ minLength: 1, maxLength: 5 }) }),
    {
      minLength: 1,
      maxLength: 3
    }
  ),
  { maxLength: 20 }
)

/** Appends a frame, with a switch for every piece. A frame that contains only the first choice has no switches. */
const append = (delivered: DeliveredText, frame: ReadonlyArray<Piece>) => {
  const content = frame.map(({ text }) => text).join("")
  const switches = frame.map(({ choice }, i) => ({
    choice,
    from: frame.slice(0, i).reduce((length, { text }) => length + text.length, 0)
  }))
  delivered.append(content, switches.some(({ choice }) => choice > 0) ? switches : undefined)
}

describe("delivered text", () => {
  property(
    "contains, for each choice, the characters that the socket has taken",
    [frames, FastCheck.nat(300)],
    (all, taken) => {
      const delivered = new DeliveredText()
      for (const frame of all) append(delivered, frame)
      delivered.markDelivered(Math.min(taken, delivered.sentCharacters), all.length)
      const characters = all
        .flat()
        .flatMap(({ choice, text }) => text.split("").map((character) => ({ choice, character })))
      const ofChoice = (wanted: number) =>
        characters
          .slice(0, taken)
          .filter(({ choice }) => choice === wanted)
          .map(({ character }) => character)
          .join("")
      const expected = [0, 1, 2, 3].map(ofChoice).filter((text) => text !== "")
      return JSON.stringify([...delivered.texts].sort()) === JSON.stringify(expected.sort())
    }
  )

  it("is empty before the socket takes the first write", () => {
    const delivered = new DeliveredText()
    delivered.append("hello")
    expect([delivered.texts, delivered.deltas]).toEqual([[], 0])
  })
})
