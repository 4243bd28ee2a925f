/**
 * Tests that the load of `npm run upgrade:try` notices a lost request. If UPGRADE_FROM names a release that `npm run
 * upgrade:try -- --from REF` has built, an upgrade is tested too.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type RequestListener, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { eventually } from "../bench/Target.ts"
import { Balancer } from "./Balancer.ts"
import { Load } from "./Load.ts"
import { startProvider } from "./Provider.ts"
import { checkoutOf, isBuilt, THIS_CHECKOUT } from "./Releases.ts"
import { rollOut } from "./Rollout.ts"

const servers: Array<Server> = []
const balancers: Array<Balancer> = []
afterEach(() => {
  for (const balancer of balancers.splice(0)) balancer.close()
  for (const server of servers.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

const aServer = async (listener: RequestListener): Promise<{ readonly port: number; readonly server: Server }> => {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return { server, port: (server.address() as AddressInfo).port }
}

const aBalancer = async (...ports: ReadonlyArray<number>): Promise<Balancer> => {
  const balancer = await Balancer.start()
  balancers.push(balancer)
  for (const port of ports) balancer.add(port, true)
  return balancer
}

const aLoad = ({ url }: Balancer, streams: number, whole: number) => new Load({ url, keys: ["key"], streams, whole })

describe("the load during an upgrade", () => {
  it.each<readonly [string, RequestListener]>([
    ["reset without a response", (request) => request.socket.destroy()],
    ["refused with 503", (_, response) => response.writeHead(503).end("{}")],
    [
      "cut in its stream",
      (_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write('data: {"choices":[{"index":0,"delta":{"content":"token "},"finish_reason":null}]}\n\n')
        setTimeout(() => response.destroy(), 10)
      }
    ]
  ])("counts a request as failed that is %s", async (_, listener) => {
    const { port } = await aServer(listener)
    const load = aLoad(await aBalancer(port), 1, 0)
    await eventually("a failure", 15_000, async () => load.failures.length > 0)
    await load.stop()
    expect(load.succeeded.streams).toBe(0)
  })

  it("continues on another server when a server refuses connections", async () => {
    const provider = await startProvider()
    servers.push(provider.server)
    const gone = await aServer(() => {})
    const balancer = await aBalancer(provider.port, gone.port)
    await new Promise((resolve) => gone.server.close(resolve))
    const load = aLoad(balancer, 0, 2)
    await eventually("a second try", 15_000, async () => balancer.retried > 0 && load.succeeded.whole > 1)
    await load.stop()
    expect(load.failures).toEqual([])
  })
})

const from = process.env.UPGRADE_FROM

it.skipIf(from === undefined)(
  "an upgrade from UPGRADE_FROM charges each request exactly once",
  {
    timeout: 600_000
  },
  async () => {
    const old = checkoutOf(from ?? "")
    expect([isBuilt(old), isBuilt(THIS_CHECKOUT)]).toEqual([true, true])
    const directory = mkdtempSync(join(tmpdir(), "tollgate-upgrade-"))
    try {
      const plan = { servers: 2, streams: 4, whole: 4, pauseMillis: 2_000, print: () => {} }
      const report = await rollOut({ old, fresh: THIS_CHECKOUT, directory, ...plan })
      const total = report.succeeded.streams + report.succeeded.whole
      expect(report).toMatchObject({ failures: [], audit: "", charges: { settled: total, exact: total } })
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
)
