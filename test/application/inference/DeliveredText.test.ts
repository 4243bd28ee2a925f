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

/**
 * Appends a frame. If the frame contains text of a choice other than the first, passes a `ChoiceSwitch` (choice and
 * start position) for every text, even if the choice does not change. Otherwise passes none.
 */
const append = (delivered: DeliveredText, frame: ReadonlyArray<Piece>) => {
  const content = frame.map(({ text }) => text).join("")
  const switches = frame.map(({ choice }, i) => ({
    choice,
    from: frame.slice(0, i).reduce((length, { text }) => length + text.length, 0)
  }))
  delivered.append(content, switches.some(({ choice }) => choice > 0) ? switches : undefined)
}

describe("delivered text", () => {
  const textOfChoice = (pieces: ReadonlyArray<Piece>, wanted: number) =>
    pieces
      .filter(({ choice }) => choice === wanted)
      .map(({ text }) => text)
      .join("")
  const textsOf = (all: ReadonlyArray<ReadonlyArray<Piece>>) =>
    [0, 1, 2, 3].map((choice) => textOfChoice(all.flat(), choice)).filter((text) => text !== "")
  const deliveredOf = (all: ReadonlyArray<ReadonlyArray<Piece>>) => {
    const delivered = new DeliveredText()
    for (const frame of all) append(delivered, frame)
    return delivered
  }

  property(
    "contains, for each choice, the deltas that the socket has accepted",
    [frames, FastCheck.nat(25)],
    (all, acceptedFrames) => {
      const delivered = deliveredOf(all)
      const accepted = all.slice(0, acceptedFrames)
      delivered.markDelivered(textsOf(accepted).join("").length, accepted.length)
      return JSON.stringify([...delivered.texts].sort()) === JSON.stringify(textsOf(accepted).sort())
    }
  )

  property(
    "returns, for each choice, the text of any range of written frames, before these are delivered",
    [frames, FastCheck.nat(25), FastCheck.nat(25)],
    (all, first, end) =>
      JSON.stringify([...deliveredOf(all).sentBetween(first, end)].sort()) ===
      JSON.stringify(textsOf(all.slice(first, end)).sort())
  )

  it("is empty before the socket accepts the first write", () => {
    const delivered = new DeliveredText()
    delivered.append("hello")
    expect([delivered.texts, delivered.deltas]).toEqual([[], 0])
  })
})
