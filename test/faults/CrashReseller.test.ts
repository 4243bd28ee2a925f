/**
 * Kills servers while resellers create orders, pay, mint and create keys. The last killed server has received the
 * webhook of a payment, and has not recorded the payment yet.
 *
 * KILLS sets the number of servers that are killed, including the last one (default 4).
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import * as PaymentSimulator from "@tollgate/simulators/topup/PaymentSimulator"
import { Effect, Exit, Scope } from "effect"
import * as Pg from "pg"
import { afterAll, beforeAll, expect, it } from "vitest"
import { recordFigures } from "../support/Figures.ts"
import { ServerProcess } from "../support/ServerProcess.ts"
import { TestGateway, until } from "../support/TestGateway.ts"

const KILLS = Number(process.env.KILLS ?? 4)
const RESELLERS = 6
/** The maximum number of mints per reseller. It is below the rate limit per minute. */
const MAX_MINTS = 25
const TIER_USD_CENTS = 100
const TIER_USD_MICRO = 1_000_000n
const TIER_TOKENS = 1_000

/** A gateway that owns the database. It serves no requests of this test. */
let observer: TestGateway
let simulatorUrl: string
/** The server that receives the webhooks of the simulator; undefined if they are lost. */
let webhookReceiver: ServerProcess | undefined
const webhooks = createServer(async (request, response) => {
  const { "content-length": _length, connection: _connection, host: _host, ...headers } = request.headers
  const body = await buffer(request)
  const passed = { method: "POST", headers: headers as Record<string, string>, body }
  // The server can be killed before it responds.
  if (webhookReceiver) await fetch(`${webhookReceiver.url}${request.url}`, passed).catch(() => undefined)
  response.end()
})
const scope = Effect.runSync(Scope.make())

beforeAll(async () => {
  observer = await TestGateway.start()
  await observer.applyCatalog({
    model: { tiers: [{ tier_usd_cents: TIER_USD_CENTS, granted_tokens: TIER_TOKENS }] }
  })
  await new Promise<void>((done) => webhooks.listen(0, "127.0.0.1", done))
  const webhookBase = `http://127.0.0.1:${(webhooks.address() as AddressInfo).port}`
  simulatorUrl = (await Effect.runPromise(Scope.extend(PaymentSimulator.start({ webhookBase }), scope))).baseUrl
})
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  webhooks.close()
  await observer.close()
})

const startServer = (): Promise<ServerProcess> =>
  ServerProcess.beside(observer, { PAYMENTS_SIMULATOR: "on", PAYMENTS_SIM_PORT: new URL(simulatorUrl).port })

const servers: Array<ServerProcess> = []

/** The number of requests without a response, by kind of request. */
const withoutResponse = { order: 0, refresh: 0, mint: 0, key: 0, revoke: 0, read: 0 }
type RequestKind = keyof typeof withoutResponse

interface ReceivedResponse {
  readonly status: number
  readonly body: Record<string, unknown>
}

/** Sends a request to one of the servers. Returns undefined if the server is killed before it responds. */
const tryOnce = async (
  kind: RequestKind,
  token: string,
  call: string,
  body?: object
): Promise<ReceivedResponse | undefined> => {
  const [method = "GET", path = "/"] = call.split(" ")
  const server = servers[Math.floor(Math.random() * servers.length)] as ServerProcess
  try {
    const response = await fetch(`${server.url}/api/reseller${path}`, {
      method,
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  } catch {
    withoutResponse[kind] += 1
    return undefined
  }
}

const requestUntilResponse = async (
  kind: RequestKind,
  token: string,
  call: string,
  body?: object
): Promise<ReceivedResponse> => {
  for (;;) {
    const response = await tryOnce(kind, token, call, body)
    if (response !== undefined) return response
    await sleep(10)
  }
}

interface Order {
  readonly id: string
  readonly order_number: string
  readonly quota_usd_micro: number
}

/** A reseller with one customer, and the recorded results of its requests. */
interface Actor {
  readonly token: string
  readonly userId: string
  readonly customerEmail: string
  readonly tierId: string
  readonly credited: Array<Order>
  /** The first successful response to the mint of each operation id. */
  readonly minted: Map<string, ReceivedResponse>
  readonly keys: Array<{ readonly id: string; readonly secret: string; readonly revoked: boolean }>
}

const newActor = async (nth: number): Promise<Actor> => {
  const email = `reseller-${nth}@example.com`
  const password = "correct horse"
  await requestUntilResponse("read", "", "POST /auth/signup", {
    email,
    password,
    name: "Toko Token",
    wa_number: "6281234567890"
  })
  await observer.query("UPDATE reseller SET status = 'active' WHERE email = $1", [email])
  const token = String((await requestUntilResponse("read", "", "POST /auth/login", { email, password })).body.token)
  const customerEmail = `customer-of-${nth}@example.com`
  const customer = await requestUntilResponse("read", token, "POST /customers", { email: customerEmail })
  const tiers = (await requestUntilResponse("read", token, "GET /tiers")).body.tiers as ReadonlyArray<{
    plan_tier_id: string
  }>
  return {
    token,
    userId: String(customer.body.user_id),
    customerEmail,
    tierId: tiers[0]?.plan_tier_id ?? "",
    credited: [],
    minted: new Map(),
    keys: []
  }
}

const METHODS = [
  { method: "qris", amount_idr: 20_000 },
  { method: "hosted_qris", amount_idr: 30_000 },
  { method: "crypto", amount_usd_micro: 5_000_001 },
  { method: "crypto_bep20", amount_usd_micro: 1_000_123 }
]

/** If the response is lost, the client cannot pay, because it has no payment instructions. */
const topUp = async (actor: Actor, round: number): Promise<void> => {
  const created = await tryOnce("order", actor.token, "POST /topup", METHODS[round % METHODS.length])
  if (created === undefined || created.status === 503) return
  expect(created.status, JSON.stringify(created.body)).toBe(201)
  const order = created.body as unknown as Order
  const paid = await fetch(`${simulatorUrl}/pay/${order.order_number}`, { method: "POST" })
  expect(paid.status, await paid.text()).toBe(200)
  await refreshUntilCredited(actor, order)
}

const refreshUntilCredited = async (actor: Actor, order: Order): Promise<void> => {
  await until(async () => {
    const { body, status } = await requestUntilResponse("refresh", actor.token, `GET /topup/${order.id}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return body.status === "credited"
  })
  actor.credited.push(order)
}

const mint = async (actor: Actor, operationId: string): Promise<void> => {
  const { customerEmail, minted, tierId, token } = actor
  const body = { operation_id: operationId, customer_email: customerEmail, plan_tier_id: tierId }
  const response = await requestUntilResponse("mint", token, "POST /mint", body)
  // A mint that is refused for lack of quota does not use up its operation id.
  if (response.status === 402) return
  expect(response.status, JSON.stringify(response.body)).toBe(200)
  minted.set(operationId, response)
}

/** A key whose response is lost stays unused, because its secret is shown once. */
const makeKey = async (actor: Actor, round: number): Promise<void> => {
  const created = await tryOnce("key", actor.token, `POST /customers/${actor.userId}/keys`, { name: `key ${round}` })
  if (created === undefined) return
  expect(created.status, JSON.stringify(created.body)).toBe(201)
  const id = String(created.body.key_id)
  const revoked = round % 2 === 0
  if (revoked) expect((await requestUntilResponse("revoke", actor.token, `DELETE /keys/${id}`)).status).toBe(200)
  actor.keys.push({ id, secret: String(created.body.secret), revoked })
}

/** Kills a server that has received the webhook of a payment, while it waits for the row of the order. */
const killAfterWebhook = async (actor: Actor): Promise<void> => {
  const order = (await requestUntilResponse("read", actor.token, "POST /topup", METHODS[0])).body as unknown as Order
  const locker = new Pg.Client(observer.database.settings)
  await locker.connect()
  await locker.query("BEGIN")
  await locker.query("SELECT FROM topup_order WHERE id = $1 FOR UPDATE", [order.id])
  webhookReceiver = servers.shift()
  const paying = fetch(`${simulatorUrl}/pay/${order.order_number}`, { method: "POST" })
  const waiting = `SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%topup_order%FOR NO KEY UPDATE%'`
  await until(async () => (await observer.query(waiting)).length > 0)
  await webhookReceiver?.kill()
  await locker.end()
  expect((await paying).status).toBe(200)
  await refreshUntilCredited(actor, order)
}

const sendUntilStopped = async (actor: Actor, nth: number, stopped: () => boolean): Promise<void> => {
  for (let round = nth; !stopped(); round++) {
    await topUp(actor, round)
    if (actor.minted.size < MAX_MINTS) await mint(actor, `operation ${round}`)
    await makeKey(actor, round)
  }
}

it(
  `orders, mints and keys are stored completely or not at all despite ${KILLS} kills`,
  async () => {
    servers.push(...(await Promise.all([startServer(), startServer()])))
    const actors = await Promise.all(Array.from({ length: RESELLERS }, (_, nth) => newActor(nth)))
    const progress = () =>
      actors.reduce((sum, { credited, keys, minted }) => sum + credited.length + keys.length + minted.size, 0)

    let stopped = false
    let replacement: Promise<unknown> = Promise.resolve()
    const load = Promise.all(actors.map((actor, nth) => sendUntilStopped(actor, nth, () => stopped)))
    const killing = async () => {
      for (let kill = 1; kill < KILLS; kill++) {
        const before = progress()
        await until(() => progress() >= before + RESELLERS && servers.length === 2)
        await sleep(Math.random() * 100)
        const victim = servers.shift()
        await victim?.kill()
        // Until the replacement runs, the other server serves all requests.
        replacement = startServer().then((server) => servers.push(server))
      }
      await replacement
      stopped = true
    }
    await Promise.all([load, killing()])
    await killAfterWebhook(actors[0] as Actor)

    for (const actor of actors) await expectEverythingStored(actor)

    // A draft is not visible to resellers.
    const drafts = await observer.query<{ id: string }>("SELECT id FROM topup_order WHERE provision_state = 'creating'")
    for (const { id } of drafts) {
      for (const { token } of actors)
        expect((await requestUntilResponse("read", token, `GET /topup/${id}`)).status).toBe(404)
    }
    expect(await observer.query("SELECT id FROM topup_order WHERE status = 'crediting'")).toEqual([])
    for (const server of servers) expect(await server.stop()).toEqual({ code: 0, signal: null })
    expect(await observer.audit()).toEqual([])

    // The test is meaningful only if these cases occurred.
    expect(Object.values(withoutResponse).reduce((sum, many) => sum + many, 0)).toBeGreaterThanOrEqual(
      Math.floor((KILLS - 1) / 2)
    )
    expect(progress()).toBeGreaterThan((KILLS - 1) * RESELLERS)

    recordFigures({
      "servers killed": KILLS,
      "acknowledged orders, mints and keys, each stored once": progress(),
      "requests without a response": Object.values(withoutResponse).reduce((sum, many) => sum + many, 0)
    })
  },
  240_000 + KILLS * 20_000
)

const expectEverythingStored = async ({
  credited,
  keys,
  minted,
  tierId,
  customerEmail,
  token,
  userId
}: Actor): Promise<void> => {
  const toppedUp = credited.reduce((sum, { quota_usd_micro }) => sum + BigInt(quota_usd_micro), 0n)
  const { body: balance } = await requestUntilResponse("read", token, "GET /balance")
  expect(balance.balance_usd_micro).toBe(String(toppedUp - BigInt(minted.size) * TIER_USD_MICRO))

  const { body: balances } = await requestUntilResponse("read", token, `GET /customers/${userId}/balances`)
  const purchased = minted.size * TIER_TOKENS
  expect(balances.token_plans).toMatchObject(minted.size === 0 ? [] : [{ purchased_tokens: purchased }])

  for (const [operation_id, first] of minted) {
    const body = { operation_id, customer_email: customerEmail, plan_tier_id: tierId }
    const again = await requestUntilResponse("read", token, "POST /mint", body)
    expect(again).toEqual({ status: 200, body: { ...first.body, already_applied: true } })
  }

  const [listed] = await observer.query<{ ready: number }>(
    `SELECT count(*)::int AS ready FROM topup_order JOIN reseller_customer USING (reseller_id)
     WHERE user_id = $1 AND provision_state = 'ready'`,
    [userId]
  )
  expect((await requestUntilResponse("read", token, "GET /topups?limit=1")).body.total).toBe(listed?.ready)

  for (const { revoked, secret } of keys) {
    const server = servers[0] as ServerProcess
    const models = await fetch(`${server.url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })
    expect(models.status).toBe(revoked ? 401 : 200)
  }
}
