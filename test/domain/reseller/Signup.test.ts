import { Login, Signup } from "@tollgate/domain/reseller/Signup"
import { read } from "@tollgate/domain/validation/Validation"
import { Either, Redacted } from "effect"
import { describe, expect, it } from "vitest"

const good = { email: " New@Example.COM ", password: "pa55w0rd", name: " Toko Token ", wa_number: "628123456789" }
const issuesOf = (body: unknown) =>
  Either.match(read(Signup)(body), {
    onLeft: ({ details }) => details.map(({ path, message }) => `${path}: ${message}`),
    onRight: () => []
  })

describe("a signup", () => {
  const signup = Either.getOrThrow(read(Signup)({ ...good, anything: "else" }))

  it("has its email in lower case without surrounding spaces", () => {
    expect(signup).toMatchObject({ email: "new@example.com", name: "Toko Token", waNumber: "628123456789" })
  })

  it("does not show its password in JSON", () => {
    expect(Redacted.value(signup.password)).toBe("pa55w0rd")
    expect(JSON.stringify(signup)).not.toContain("pa55w0rd")
  })

  it.each([
    ["a missing email", { email: undefined }, "email"],
    ["an invalid email", { email: "not-an-email" }, "email"],
    ["a number as the email", { email: 7 }, "email"],
    ["a password of 7 characters", { password: "1234567" }, "password"],
    ["a password of 129 characters", { password: "x".repeat(129) }, "password"],
    ["an empty name", { name: "  " }, "name"],
    ["a name of 201 characters", { name: "x".repeat(201) }, "name"],
    ["a name of two lines", { name: "a\nb" }, "name"],
    ["a WhatsApp number with 6 digits", { wa_number: "123456" }, "wa_number"],
    ["a WhatsApp number with 16 digits", { wa_number: "1234567890123456" }, "wa_number"],
    ["a WhatsApp number without the country code", { wa_number: "08123456789" }, "wa_number"],
    ["a WhatsApp number with a plus sign", { wa_number: "+628123456789" }, "wa_number"],
    ["a WhatsApp number sent as a JSON number", { wa_number: 628123456789 }, "wa_number"]
  ])("is refused for %s", (_, members, path) => {
    expect(issuesOf({ ...good, ...members })).toEqual([expect.stringMatching(new RegExp(`^${path}: .{4}`))])
  })

  it.each([
    ["8 and 128 characters", "password", ["12345678", "x".repeat(128)]],
    ["1 and 200 characters", "name", ["x", "x".repeat(200)]],
    ["7 and 15 digits", "wa_number", ["1234567", "123456789012345"]]
  ])("is accepted with %s in the member %s", (_, member, values) => {
    for (const value of values) expect(issuesOf({ ...good, [member]: value })).toEqual([])
  })

  it("counts the characters of a password as code points", () => {
    expect(issuesOf({ ...good, password: "🔑".repeat(8) })).toEqual([])
    expect(issuesOf({ ...good, password: "🔑".repeat(7) })).toHaveLength(1)
  })

  it("is refused with the issues of all invalid members together", () => {
    expect(issuesOf({})).toHaveLength(4)
    expect(issuesOf("nonsense")).toHaveLength(1)
  })

  it("is refused without a copy of the invalid password or body", () => {
    const issues = [
      ...issuesOf({ ...good, password: "s3cr3t" }),
      ...issuesOf({ ...good, password: 987654321 }),
      ...issuesOf({ ...good, password: { a: "s3cr3t" } }),
      ...issuesOf("s3cr3t")
    ]
    expect(issues).toHaveLength(4)
    expect(issues.join()).not.toMatch(/s3cr3t|987654321/)
  })
})

describe("a password", () => {
  it("is the same with combining and precomposed accents", () => {
    const typed = (password: string) =>
      Redacted.value(Either.getOrThrow(read(Login)({ email: "a", password })).password)
    expect(typed("passwo\u0301rd")).toBe(typed("passw\u00f3rd"))
  })
})
