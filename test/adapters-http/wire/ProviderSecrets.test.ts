import { identifyingWords, ProviderSecrets } from "@tollgate/adapters-http/wire/ProviderSecrets"
import { redactedText } from "@tollgate/adapters-http/wire/Redaction"
import type { Provider } from "@tollgate/domain/catalog/Provider"
import { ProviderName } from "@tollgate/domain/catalog/Provider"
import { describe, expect, it } from "vitest"
import { aProvider, aRoute } from "../../support/upstream/Candidates.ts"

const primary = aProvider({ name: ProviderName("primary"), baseUrl: "https://api.first-host.example/v1" })
const other = aProvider({
  name: ProviderName("second-choice"),
  baseUrl: "https://gw.other-host.example:8443/v1/4c7fa1b2c3d4e5/compat",
  apiKeyEnv: "OTHER_KEY"
})
const OTHER_KEY = "qwertyuiop-of-the-other"

const secretsOf = (...providers: ReadonlyArray<Provider>) => {
  const catalog = { version: 1, models: new Map(), providers: new Map(providers.map((each) => [each.name, each])) }
  return new ProviderSecrets(() => catalog, {
    containsApiKey: (text, searched) =>
      searched.some(({ apiKeyEnv }) => apiKeyEnv === "OTHER_KEY") && text.includes(OTHER_KEY)
  })
}
const shown = (text: string, secrets = secretsOf(primary, other)) =>
  redactedText(text, secrets.namesFor("ours", { provider: primary, route: aRoute({ upstreamModel: "theirs" }) }))

describe("the message of a provider", () => {
  it("is shown if it identifies no provider of the catalog", () => {
    expect(shown("theirs: the prompt has 9 tokens, the maximum is 8")).toBe(
      "ours: the prompt has 9 tokens, the maximum is 8"
    )
  })

  it.each([
    ["the name of the provider that received the request", "PRIMARY refused this"],
    ["the host of the provider that received the request", "first-host refused this"],
    ["the name of another provider", "Second-Choice refused this"],
    ["the host and port of another provider", "no response from gw.other-host.example:8443"],
    ["a part of the host of another provider", "no response from other-host"],
    ["the account in the base URL of another provider", "account 4c7fa1b2c3d4e5 is closed"],
    ["the API key of another provider", `the key ${OTHER_KEY} is wrong`]
  ])("is dropped if it contains %s", (_, text) => {
    expect(shown(text)).toBeUndefined()
  })

  it("is dropped if it names a provider removed during the request", () => {
    expect(shown("primary refused this", secretsOf(other))).toBeUndefined()
  })
})

it("a provider is identified by its name and by parts of its base URL", () => {
  expect(identifyingWords(other)).toEqual([
    "second-choice",
    "gw.other-host.example:8443",
    "other-host",
    "4c7fa1b2c3d4e5"
  ])
  expect(identifyingWords(aProvider({ baseUrl: "http://127.0.0.1:9/v1" }))).toEqual(["provider", "127.0.0.1:9"])
})
