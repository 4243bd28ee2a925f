import { canBeProviderKey, providerKeysIn } from "@tollgate/composition/ProviderKeys"
import { Environment } from "@tollgate/composition/ServerConfig"
import { Redacted } from "effect"
import { describe, expect, it } from "vitest"

describe("the API key of a provider", () => {
  const environment = {
    OPENAI_API_KEY: "sk-1",
    FROM_FILE: "sk-2\n",
    JWT_SECRET: "secret",
    DATABASE_URL: "postgres://u:p@db/x",
    EMPTY: "",
    BLANK: "\n"
  }
  const keys = providerKeysIn(environment, { SIMULATOR_API_KEY: "simulated", KEY_PEPPER: "pepper" })
  const valueOf = (name: string) => {
    const key = keys(name)
    return key && Redacted.value(key)
  }

  it("is the value of the variable that the catalog names", () => {
    expect(valueOf("OPENAI_API_KEY")).toBe("sk-1")
    expect(keys("OPENAI_API_KEY")).toBe(keys("OPENAI_API_KEY"))
    expect(valueOf("SIMULATOR_API_KEY")).toBe("simulated")
  })

  it("has no white space at its ends, because a header with a line break cannot be sent", () => {
    expect(valueOf("FROM_FILE")).toBe("sk-2")
  })

  it("is undefined if the variable is blank or missing", () => {
    expect(["EMPTY", "BLANK", "MISSING", "constructor", "__proto__"].map(valueOf)).toEqual(Array(5).fill(undefined))
  })

  it("is never the value of a setting of the server", () => {
    expect(["JWT_SECRET", "DATABASE_URL", "KEY_PEPPER"].map(valueOf)).toEqual([undefined, undefined, undefined])
    expect(Object.keys(Environment.fields).filter(canBeProviderKey)).toEqual([])
  })
})
