import { presentedKey } from "@tollgate/adapters-http/auth/PresentedKey"
import { Either, Redacted } from "effect"
import { describe, expect, it } from "vitest"

/** Returns the API key, or the reason for the error, for example `<missing>`. */
const read = (...headers: ReadonlyArray<readonly [name: string, value: string]>): string =>
  Either.match(presentedKey(headers.flat()), {
    onLeft: ({ reason }) => `<${reason}>`,
    onRight: Redacted.value
  })

describe("the presented key", () => {
  it.each([
    ["as a bearer token", [["authorization", "Bearer k"]]],
    ["with the scheme and the header name in any case", [["AUTHORIZATION", "bEaReR k"]]],
    ["in x-api-key", [["X-Api-Key", "k"]]],
    ["with spaces around it", [["authorization", "  Bearer   k  "]]],
    [
      "in one header sent twice with equal values",
      [
        ["x-api-key", "k"],
        ["x-api-key", "k"]
      ]
    ],
    [
      "in both headers with equal values",
      [
        ["authorization", "Bearer k"],
        ["x-api-key", "k"]
      ]
    ],
    [
      "next to an empty header",
      [
        ["authorization", ""],
        ["x-api-key", "k"]
      ]
    ],
    [
      "next to a bearer scheme without a token",
      [
        ["authorization", "Bearer "],
        ["x-api-key", "k"]
      ]
    ],
    [
      "among other headers whose names have the same lengths",
      [
        ["cache-control", "x"],
        ["x-trace-i", "y"],
        ["x-api-key", "k"]
      ]
    ]
  ] as const)("is found %s", (_, headers) => {
    expect(read(...headers)).toBe("k")
  })

  it.each([
    ["no headers", []],
    [
      "empty headers",
      [
        ["authorization", " "],
        ["x-api-key", ""]
      ]
    ],
    ["a scheme other than Bearer", [["authorization", "Basic dXNlcjpwYXNz"]]],
    ["a token without a scheme", [["authorization", "k"]]],
    ["a scheme and a token without a space between them", [["authorization", "Bearerk"]]]
  ] as const)("is missing in a request with %s", (_, headers) => {
    expect(read(...headers)).toBe("<missing>")
  })

  it.each([
    [
      "two headers with different values",
      [
        ["authorization", "Bearer k"],
        ["x-api-key", "l"]
      ]
    ],
    [
      "one header twice with different values",
      [
        ["x-api-key", "k"],
        ["x-api-key", "l"]
      ]
    ],
    [
      "two authorization headers, of which Node.js keeps the first",
      [
        ["authorization", "Bearer k"],
        ["authorization", "Bearer l"]
      ]
    ],
    [
      "three values, of which two are equal",
      [
        ["x-api-key", "k"],
        ["x-api-key", "l"],
        ["x-api-key", "k"]
      ]
    ],
    [
      "another scheme next to a key",
      [
        ["authorization", "Basic dXNlcjpwYXNz"],
        ["x-api-key", "k"]
      ]
    ]
  ] as const)("is conflicting in a request with %s", (_, headers) => {
    expect(read(...headers)).toBe("<conflicting>")
  })

  it("has at most 512 characters", () => {
    expect(read(["x-api-key", "k".repeat(512)])).toBe("k".repeat(512))
    expect(read(["x-api-key", "k".repeat(513)])).toBe("<unknown>")
  })
})
