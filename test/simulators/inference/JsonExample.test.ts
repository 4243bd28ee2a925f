import { exampleOf } from "@tollgate/simulators/inference/JsonExample"
import { describe, expect, it } from "vitest"

describe("an example of a schema", () => {
  const cases: ReadonlyArray<readonly [string, unknown, unknown]> = [
    ["is the constant", { const: 7 }, 7],
    ["is the first of the choices", { enum: ["b", "a"] }, "b"],
    ["is the first branch", { anyOf: [{ type: "integer" }, { type: "string" }] }, 1],
    ["is not null where it need not be", { type: ["null", "boolean"] }, true],
    [
      "has the required members only",
      { properties: { a: { type: "null" }, b: {} }, required: ["a", "c"] },
      { a: null, c: "simulated" }
    ],
    ["has enough items", { type: "array", minItems: 2, items: { type: "integer", minimum: 4 } }, [4, 4]],
    ["is of the right length", { type: "string", minLength: 12, maxLength: 12 }, "simulated..."],
    ["has the right format", { type: "string", format: "date" }, "2026-01-01"],
    ["is in range", { type: "number", maximum: -3 }, -3],
    ["follows references", { $ref: "#/$defs/a~1b", $defs: { "a/b": { const: "there" } } }, "there"],
    [
      "joins all parts",
      {
        allOf: [
          { properties: { a: { const: 1 } }, required: ["a"] },
          { properties: { b: { const: 2 } }, required: ["b"] }
        ]
      },
      { a: 1, b: 2 }
    ],
    ["of no schema is null", "nonsense", null]
  ]
  it.each(cases)("%s", (_, schema, example) => {
    expect(exampleOf(schema)).toEqual(example)
  })

  it("ends for a recursive schema", () => {
    const endless = { $ref: "#", type: "object" }
    expect(exampleOf(endless)).toBeNull()
    const tree = { properties: { a: { $ref: "#" }, b: { $ref: "#" }, c: { $ref: "#" } }, required: ["a", "b", "c"] }
    expect(JSON.stringify(exampleOf(tree)).length).toBeLessThan(200_000)
    expect(JSON.stringify(exampleOf({ type: "array", minItems: 1e12, items: { $ref: "#" } })).length).toBeLessThan(
      200_000
    )
  })
})
