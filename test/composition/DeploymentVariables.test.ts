import { isLoopback, servesOperators } from "@tollgate/composition/DeploymentVariables"
import { readServerConfig } from "@tollgate/composition/ServerConfig"
import { Either } from "effect"
import { expect, it } from "vitest"

const TOKEN = "uR7xkT2mVq9Lw4Zc8Jh3Nf6Yb1Gs5Pd0"

it.each([
  [{ CORS_ORIGIN: "https://shop.example\n" }, ["CORS_ORIGIN: an origin like https://example.com, or *, is needed"]],
  [{ CORS_ORIGIN: "https://shop.example" }, []],
  [{ CORS_ORIGIN: "*" }, []],
  [
    { METRICS_TOKEN: `${TOKEN}\n` },
    ["METRICS_TOKEN: a secret of 32 ASCII characters or more, without spaces, is needed"]
  ],
  [{ METRICS_TOKEN: TOKEN }, []]
])("%j is accepted only if a header can contain it", (settings, errors) => {
  const read = readServerConfig({ NODE_ENV: "test", PAYMENTS_SIMULATOR: "off", ...settings })
  expect(Either.isLeft(read) ? read.left : []).toEqual(errors)
})

it.each(["127.0.0.1", "127.9.9.9", "localhost", "::1"])("the host %s counts as a loopback host", (host) => {
  expect(isLoopback(host)).toBe(true)
})

it.each(["0.0.0.0", "::", "192.168.1.5", "gateway.example", "127.example.com"])(
  "the host %s does not count as a loopback host",
  (host) => expect(isLoopback(host)).toBe(false)
)

it.each([
  [{ NODE_ENV: "production" }, false],
  [{ NODE_ENV: "production", OPERATOR_CONSOLE: true }, true],
  [{ NODE_ENV: "production", OPERATOR_CONSOLE: false }, false],
  [{ NODE_ENV: "development" }, true],
  [{ NODE_ENV: "development", OPERATOR_CONSOLE: false }, false]
] as const)("a server with the settings %j serves the operator API: %s", (settings, expected) => {
  expect(servesOperators(settings)).toBe(expected)
})
