import * as Setting from "@tollgate/application/operations/EnvironmentSchema"
import { Either, Redacted, Schema } from "effect"
import { describe, expect, it } from "vitest"

const accepts = <A>(kind: Schema.Schema<A, string>, text: string) => Either.getRight(Schema.decodeEither(kind)(text))
const areAccepted = <A>(kind: Schema.Schema<A, string>, ...texts: ReadonlyArray<string>) =>
  texts.map((text) => accepts(kind, text)._tag === "Some")

describe("a setting", () => {
  it("for a number accepts only digits within its range", () => {
    const seconds = Setting.wholeNumber("a whole number of seconds", 1, 3_600)
    expect(areAccepted(seconds, "1", "3600")).toEqual([true, true])
    expect(areAccepted(seconds, "0", "3601", "1.0", "1e3", "0x10", "-1", "+1", " 1", "", "١")).not.toContain(true)
    const money = Setting.amount("whole rupiah", 1n, 10n ** 18n - 1n)
    expect(accepts(money, "999999999999999999")).toMatchObject({ value: 999_999_999_999_999_999n })
    expect(areAccepted(money, "0", "1000000000000000000", "1.5")).not.toContain(true)
  })

  it("for a URL accepts only a complete http or https URL without credentials and query", () => {
    expect(accepts(Setting.HttpAddress, "https://gateway.example.com/")).toMatchObject({
      value: "https://gateway.example.com"
    })
    expect(accepts(Setting.HttpAddress, "http://127.0.0.1:4010/midtrans")._tag).toBe("Some")
    expect(
      areAccepted(
        Setting.HttpAddress,
        "ftp://x",
        "gateway.example.com",
        "https://",
        "https://x?y",
        "https://a:b@x",
        "https://x:y"
      )
    ).not.toContain(true)
  })

  it("for a secret does not print the secret", () => {
    const secret = Schema.decodeSync(Setting.Secret)("x".repeat(32))
    expect(`${JSON.stringify({ secret })}${secret}`).not.toContain("xxx")
    expect(Redacted.value(secret)).toBe("x".repeat(32))
  })

  const read = Setting.readSettings(
    Schema.Struct({
      PORT: Setting.withDefault(Setting.Port, 8080, "Port"),
      SECRET: Setting.optional(Setting.Secret, "Secret"),
      LIST: Setting.optional(Setting.listOf("words", Setting.Word), "List")
    })
  )

  it("counts as absent if it is empty", () => {
    expect(read({ PORT: "", SECRET: "", OTHER: "x" })).toEqual(Either.right({ PORT: 8080 }))
  })

  it("for a list is split at its commas", () => {
    expect(read({ LIST: "a, b,c" })).toEqual(Either.right({ PORT: 8080, LIST: ["a", "b", "c"] }))
  })

  it("is reported without its value if it is invalid", () => {
    expect(read({ PORT: "hunter2", SECRET: "hunter2", LIST: "hunter2,HUNTER2" })).toEqual(
      Either.left([
        "PORT: a port from 0 to 65535 is needed",
        "SECRET: a secret of 32 characters or more is needed",
        "LIST: a list of words, with commas between them, is needed"
      ])
    )
  })
})
