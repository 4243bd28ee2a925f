import { isLoopback, servesOperators } from "@tollgate/composition/DeploymentVariables"
import { expect, it } from "vitest"

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
