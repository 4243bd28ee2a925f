import { presentedKey } from "@tollgate/adapters-http/auth/PresentedKey"
import { Either, Redacted } from "effect"
import { describe, expect, it } from "vitest"

/** The key, or the reason of the error. */
const read = (...headers: ReadonlyArray<readonly [name: string, value: string]>): string =>
  Either.match(presentedKey(headers.flat()), {
    onLeft: ({ reason }) => `<${reason}>`,
    onRight: Redacted.value
  })

describe("the presented key", () => {
  it.each([
    ["as a bearer token", [["authorization", "Bearer k"]]],
    ["whatever the case of the scheme and of the name", [["AUTHORIZATION", "bEaReR k"]]],
    ["in x-api-key", [["X-Api-Key", "k"]]],
    ["with blanks around it", [["authorization", "  Bearer   k  "]]],
    [
      "twice in one header, equal",
      [
        ["x-api-key", "k"],
        ["x-api-key", "k"]
      ]
    ],
    [
      "in both headers, equal",
      [
        ["authorization", "Bearer k"],
        ["x-api-key", "k"]
      ]
    ],
    [
      "beside an empty header",
      [
        ["authorization", ""],
        ["x-api-key", "k"]
      ]
    ],
    [
      "beside a bearer scheme without a token",
      [
        ["authorization", "Bearer "],
        ["x-api-key", "k"]
      ]
    ],
    [
      "among other headers of the same lengths",
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
    ["no header at all", []],
    [
      "empty headers",
      [
        ["authorization", " "],
        ["x-api-key", ""]
      ]
    ],
    ["a scheme that carries none", [["authorization", "Basic dXNlcjpwYXNz"]]],
    ["a token without a scheme", [["authorization", "k"]]],
    ["a scheme glued to its token", [["authorization", "Bearerk"]]]
  ] as const)("is missing with %s", (_, headers) => {
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
      "authorization twice, where Node keeps the first",
      [
        ["authorization", "Bearer k"],
        ["authorization", "Bearer l"]
      ]
    ],
    [
      "three values of which two agree",
      [
        ["x-api-key", "k"],
        ["x-api-key", "l"],
        ["x-api-key", "k"]
      ]
    ],
    [
      "another scheme beside a key",
      [
        ["authorization", "Basic dXNlcjpwYXNz"],
        ["x-api-key", "k"]
      ]
    ]
  ] as const)("is in conflict with %s", (_, headers) => {
    expect(read(...headers)).toBe("<conflicting>")
  })

  it("is at most 512 bytes", () => {
    expect(read(["x-api-key", "k".repeat(512)])).toBe("k".repeat(512))
    expect(read(["x-api-key", "k".repeat(513)])).toBe("<unknown>")
  })
})
