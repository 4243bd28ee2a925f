/**
 * Kills a server while it sends the webhook of a committed event.
 */
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import * as PgAudit from "@tollgate/adapters-postgres/operations/PgAudit"
import { Effect, Exit, Layer, Scope } from "effect"
import * as Pg from "pg"
import { afterAll, expect, it } from "vitest"
import { ServerProcess } from "../support/ServerProcess.ts"
import * as Stores from "../support/Stores.ts"
import * as TestDatabase from "../support/TestDatabase.ts"
import { TEST_JWT_SECRET, TEST_PEPPER, until } from "../support/TestGateway.ts"

const scope = Effect.runSync(Scope.make())
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const acquired = <A>(acquire: () => Promise<A>, release: (resource: A) => unknown): Promise<A> =>
  Effect.runPromise(
    Scope.extend(
      Effect.acquireRelease(Effect.promise(acquire), (resource) => Effect.promise(async () => release(resource))),
      scope
    )
  )

it("the next server delivers the event that a killed server was sending", async () => {
  const received: Array<{ readonly id: unknown; readonly response: ServerResponse }> = []
  const receiver = await acquired(
    async () => {
      const server = createServer((request, response) => {
        received.push({ id: request.headers["webhook-id"], response })
      })
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
      return server
    },
    (server) => server.close()
  )
  const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  const database = await Effect.runPromise(Scope.extend(TestDatabase.make(), scope))
  const pg = await acquired(
    async () => {
      const client = new Pg.Client(database.settings)
      await client.connect()
      return client
    },
    (client) => client.end()
  )
  const startServer = () =>
    ServerProcess.start({
      DATABASE_URL: database.url,
      KEY_PEPPER: TEST_PEPPER,
      JWT_SECRET: TEST_JWT_SECRET,
      WEBHOOK_PRIVATE_ORIGINS: origin
    })

  const first = await startServer()
  const post = async (path: string, token: string, body: object): Promise<Record<string, unknown>> => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` }
    const response = await fetch(`${first.url}/api/reseller${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body)
    })
    expect(response.ok, `${path}: ${response.status}`).toBe(true)
    return (await response.json()) as Record<string, unknown>
  }
  const account = { email: "reseller@example.com", password: "correct horse" }
  await post("/auth/signup", "", { ...account, name: "Toko Token", wa_number: "6281234567890" })
  await pg.query("UPDATE reseller SET status = 'active'")
  const token = String((await post("/auth/login", "", account)).token)
  const endpoint = await post("/webhooks/endpoints", token, { url: `${origin}/hooks`, events: ["topup.credited"] })
  await post(`/webhooks/endpoints/${String(endpoint.endpoint_id)}/test`, token, {})
  await until(() => received.length === 1)
  await first.kill()
  expect((await pg.query("SELECT status FROM webhook_delivery")).rows).toEqual([{ status: "pending" }])

  // Ends the lease of the killed server.
  await pg.query("UPDATE webhook_delivery SET next_attempt_at = clock_timestamp()")
  const second = await startServer()
  await until(() => received.length === 2)
  received[1]?.response.writeHead(200).end()
  await until(async () => (await pg.query("SELECT 1 FROM webhook_delivery WHERE status = 'delivered'")).rowCount === 1)
  expect(received[1]?.id).toBe(received[0]?.id)
  expect(await second.stop()).toEqual({ code: 0, signal: null })
  const audit = Layer.provide(PgAudit.layer, TestDatabase.clientLayer(database))
  expect(await Effect.runPromise(Effect.provide(Stores.brokenInvariants, audit))).toEqual([])
})
