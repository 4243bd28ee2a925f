import { isLoopback } from "@tollgate/composition/DeploymentVariables"
import { expect, it } from "vitest"

it.each(["127.0.0.1", "127.9.9.9", "localhost", "::1"])(
  "the host %s accepts connections of this machine only",
  (host) => {
    expect(isLoopback(host)).toBe(true)
  }
)

it.each(["0.0.0.0", "::", "192.168.1.5", "gateway.example", "127.example.com"])(
  "the host %s can accept connections of other machines",
  (host) => expect(isLoopback(host)).toBe(false)
)
