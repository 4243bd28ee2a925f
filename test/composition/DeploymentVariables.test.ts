import { readSettings } from "@tollgate/application/operations/EnvironmentSchema"
import { DeploymentVariables, isLoopback, servesOperators } from "@tollgate/composition/DeploymentVariables"
import { Either } from "effect"
import { expect, it } from "vitest"

const isAccepted = (environment: Record<string, string>) =>
  Either.isRight(readSettings(DeploymentVariables)(environment))

it.each(["0.0.0.0", "::", "::1", "localhost", "gateway-1.example.com", "my_gateway"])(
  "the server can listen on %s",
  (HOST) => expect(isAccepted({ HOST, METRICS_HOST: HOST })).toBe(true)
)

it.each(["my gateway", "[::1]", "0.0.0.0:8080", "http://gateway.example", "gateway..example"])(
  "the server cannot listen on %s",
  (HOST) => expect([isAccepted({ HOST }), isAccepted({ METRICS_HOST: HOST })]).toEqual([false, false])
)

it.each(["*", "https://app.example.com", "http://localhost:5173", "http://[::1]:80", "chrome-extension://abcdef"])(
  "the CORS origin can be %s",
  (CORS_ORIGIN) => expect(isAccepted({ CORS_ORIGIN })).toBe(true)
)

it.each(["app.example.com", "https://app.example.com/", "https://a.example, https://b.example", "https://a.example\n"])(
  "the CORS origin cannot be %j, because no browser sends it",
  (CORS_ORIGIN) => expect(isAccepted({ CORS_ORIGIN })).toBe(false)
)

const TOKEN = "uR7xkT2mVq9Lw4Zc8Jh3Nf6Yb1Gs5Pd0"

it("the token of the metrics can contain no line break, which no header can contain", () => {
  expect([isAccepted({ METRICS_TOKEN: TOKEN }), isAccepted({ METRICS_TOKEN: `${TOKEN}\n` })]).toEqual([true, false])
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
