import { exampleOf } from "@tollgate/simulators/inference/JsonExample"
import { describe, expect, it } from "vitest"

describe("the example of a JSON schema", () => {
  const cases: ReadonlyArray<readonly [string, unknown, unknown]> = [
    ["is the value of `const`", { const: 7 }, 7],
    ["is the first value of `enum`", { enum: ["b", "a"] }, "b"],
    ["matches the first branch of `anyOf`", { anyOf: [{ type: "integer" }, { type: "string" }] }, 1],
    ["is not null if another type is allowed", { type: ["null", "boolean"] }, true],
    [
      "has only the required members",
      { properties: { a: { type: "null" }, b: {} }, required: ["a", "c"] },
      { a: null, c: "simulated" }
    ],
    ["has the minimum number of items", { type: "array", minItems: 2, items: { type: "integer", minimum: 4 } }, [4, 4]],
    ["has the required length", { type: "string", minLength: 12, maxLength: 12 }, "simulated..."],
    ["has the required format", { type: "string", format: "date" }, "2026-01-01"],
    ["is in the allowed range", { type: "number", maximum: -3 }, -3],
    ["follows references", { $ref: "#/$defs/a~1b", $defs: { "a/b": { const: "there" } } }, "there"],
    [
      "has the members of all parts of `allOf`",
      {
        allOf: [
          { properties: { a: { const: 1 } }, required: ["a"] },
          { properties: { b: { const: 2 } }, required: ["b"] }
        ]
      },
      { a: 1, b: 2 }
    ],
    ["is null for an invalid schema", "nonsense", null]
  ]
  it.each(cases)("%s", (_, schema, example) => {
    expect(exampleOf(schema)).toEqual(example)
  })

  it("is finite for a recursive schema", () => {
    const endless = { $ref: "#", type: "object" }
    expect(exampleOf(endless)).toBeNull()
    const tree = { properties: { a: { $ref: "#" }, b: { $ref: "#" }, c: { $ref: "#" } }, required: ["a", "b", "c"] }
    expect(JSON.stringify(exampleOf(tree)).length).toBeLessThan(200_000)
    expect(JSON.stringify(exampleOf({ type: "array", minItems: 1e12, items: { $ref: "#" } })).length).toBeLessThan(
      200_000
    )
  })
})
