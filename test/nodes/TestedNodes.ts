/**
 * The versions of Node.js that the tests run with. `npm test` runs the whole suite with the installed version, and
 * `npm run test:nodes` runs the tests in {@link NODE_TESTS} with the others.
 */

/** One version for each major version that the field `engines` of the manifests accepts. */
export const TESTED_NODES = ["20.20.2", "22.23.3", "24.21.0"] as const

/** The tests of code whose behaviour depends on Node.js: processes, signals, HTTP, streams and a native module. */
export const NODE_TESTS: ReadonlyArray<string> = [
  // The command line and the server as processes: start, Ctrl-C, shutdown, heartbeats, workers.
  "test/cli/main.test.ts",
  "test/e2e/Shutdown.test.ts",
  "test/e2e/Start.test.ts",
  "test/e2e/Workers.test.ts",
  // HTTP as bytes: the parser, framing, backpressure, timeouts and closed connections.
  "test/adapters-http/http",
  "test/adapters-http/inference/relay/ClientResponse.test.ts",
  "test/adapters-http/server",
  "test/e2e/Disconnect.test.ts",
  // Connections to providers, and the official clients.
  "test/adapters-upstream/inference/UndiciUpstreams.test.ts",
  "test/e2e/OfficialClients.test.ts",
  // The native module for password hashes.
  "test/adapters-http/auth/ArgonPasswordHasher.test.ts"
]
