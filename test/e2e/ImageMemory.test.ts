/**
 * Measures the memory of a server in its own process during eight parallel images of the maximum size.
 */
import { existsSync, readFileSync } from "node:fs"
import { request } from "undici"
import { afterAll, beforeAll, expect, it } from "vitest"
import { ServerProcess } from "../support/ServerProcess.ts"
import { TestGateway } from "../support/TestGateway.ts"
import { text } from "../support/upstream/Script.ts"

const MIB = 1024 * 1024
const PARALLEL_REQUESTS = 8
/** The limit of the memory growth. One copy of each response needs 214 MiB; two copies would need 428 MiB. */
const MAX_GROWTH_MIB = 320

let gateway: TestGateway
let server: ServerProcess
beforeAll(async () => {
  gateway = await TestGateway.start({
    provider: { protocols: ["images"] },
    model: { kind: "image", capabilities: ["generate"] }
  })
  server = await ServerProcess.beside(gateway)
})
afterAll(async () => {
  await server.stop()
  await gateway.close()
})

const peakMib = (): number => {
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]
  return Number(peak) / 1024
}

const picture = Buffer.alloc(Math.floor((20 * MIB) / 3) * 4, "A")
const upstreamBody = Buffer.concat([
  Buffer.from('{"created":1,"data":[{"b64_json":"'),
  picture,
  Buffer.from('"}],"usage":{"input_tokens":5,"output_tokens":7,"total_tokens":12}}')
])

/** Sends a request, and returns the status, the billing header and the number of whole MiB of the response. */
const generate = async (key: string): Promise<string> => {
  const { statusCode, headers, body } = await request(`${server.url}/v1/images/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", prompt: "a large cat" })
  })
  let byteLength = 0
  for await (const chunk of body) byteLength += (chunk as Buffer).length
  return `${statusCode} ${headers["x-tollgate-billing"]} ${Math.floor(byteLength / MIB)}`
}

it.skipIf(!existsSync("/proc/self/status"))(
  "eight parallel images of 20 MiB increase the memory by less than 320 MiB",
  async () => {
    const customers = await Promise.all(
      Array.from({ length: PARALLEL_REQUESTS }, () => gateway.newCustomer(1_000_000n))
    )
    gateway.upstream.always(text(upstreamBody, "application/json"))
    const before = peakMib()
    const made = await Promise.all(customers.map(({ key }) => generate(key)))
    expect(made).toEqual(customers.map(() => "200 settled 26"))
    const growth = peakMib() - before
    expect(growth).toBeLessThan(MAX_GROWTH_MIB)
  }
)
