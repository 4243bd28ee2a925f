import { bearerToken } from "@tollgate/adapters-http/auth/ResellerCaller"
import { Redacted } from "effect"
import { describe, expect, it } from "vitest"

const tokenIn = (...rawHeaders: ReadonlyArray<string>) => {
  const token = bearerToken(rawHeaders)
  return token === undefined ? undefined : Redacted.value(token)
}

describe("the bearer token", () => {
  it.each([
    ["Authorization", "Bearer a.b-c_d.e"],
    ["authorization", "bearer a.b-c_d.e"],
    ["AUTHORIZATION", "BEARER   a.b-c_d.e  "]
  ])("is the text after the scheme in the header '%s: %s'", (name, value) => {
    expect(tokenIn("host", "x", name, value)).toBe("a.b-c_d.e")
  })

  it.each([
    ["a request without the header", []],
    ["an empty header", ["authorization", ""]],
    ["a scheme without a token", ["authorization", "Bearer"]],
    ["another scheme", ["authorization", "Basic abc"]],
    ["a scheme that only begins with Bearer", ["authorization", "BearerX abc"]],
    ["a header with a space in its token", ["authorization", "Bearer abc def"]],
    ["the header for API keys", ["x-api-key", "abc"]],
    ["a header with a token that is too long", ["authorization", `Bearer ${"a".repeat(5_000)}`]],
    ["two headers with different tokens", ["authorization", "Bearer abc", "Authorization", "Bearer def"]]
  ])("is not found in %s", (_, rawHeaders) => {
    expect(tokenIn(...rawHeaders)).toBeUndefined()
  })

  it("can be sent twice if both values are equal", () => {
    expect(tokenIn("authorization", "Bearer abc", "authorization", "Bearer abc")).toBe("abc")
  })

  it("is hidden when it is converted to text", () => {
    expect(String(bearerToken(["authorization", "Bearer abc"]))).not.toContain("abc")
  })
})
