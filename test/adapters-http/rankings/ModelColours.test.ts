import { FastCheck } from "effect"
import { describe, expect } from "vitest"
import { property } from "../../support/property.ts"

interface Colours {
  readonly OTHER: string
  readonly ModelColours: new () => {
    readonly show: (names: ReadonlyArray<string>) => void
    readonly classOf: (name: string) => string
  }
}

const asset = new URL("../../../packages/adapters-http/assets/rankings/model-colours.js", import.meta.url).href
const { ModelColours, OTHER }: Colours = await import(asset)

const name = FastCheck.constantFrom(..."abcdefghijklmnop")
const windows = FastCheck.array(FastCheck.uniqueArray(name, { maxLength: 12 }), { maxLength: 20 })

describe("the colours of models", () => {
  property("are different for the first eight shown models", [windows], (shown) => {
    const colours = new ModelColours()
    for (const names of shown) {
      colours.show(names)
      const classes = names.slice(0, 8).map((each) => colours.classOf(each))
      expect(new Set(classes).size).toBe(classes.length)
      expect(classes.every((each) => /^mark-[1-8]$/.test(each))).toBe(true)
      expect(names.slice(8).every((each) => colours.classOf(each) === OTHER)).toBe(true)
    }
    return true
  })

  property("do not change while a model is among the first eight", [windows], (shown) => {
    const colours = new ModelColours()
    let before = new Map<string, string>()
    for (const names of shown) {
      colours.show(names)
      const now = new Map(names.slice(0, 8).map((each) => [each, colours.classOf(each)] as const))
      for (const [each, colour] of now) if (before.has(each)) expect(colour).toBe(before.get(each))
      before = now
    }
    return true
  })
})
