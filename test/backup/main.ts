/**
 * Restores a database to a point in time (`npm run restore-trial`). Then it checks that the audit finds no difference,
 * and that the commands of docs/backup.md find every payment that is not in the restored database. It needs the Debian
 * packages postgresql and pgbackrest.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as PaymentSimulator from "@tollgate/simulators/topup/PaymentSimulator"
import { Effect, Exit, Scope } from "effect"
import { eventually } from "../failover/ActiveTime.ts"
import { Gateways, textIn } from "../failover/Gateways.ts"
import { ownDirectory, Processes } from "../failover/Processes.ts"
import { buildThisCheckout, readProgram } from "../support/Program.ts"
import { ScriptedUpstream } from "../support/ScriptedUpstream.ts"
import { StreamClient } from "../support/StreamClient.ts"
import { asPlayed, type Play } from "../support/upstream/Play.ts"
import { BackedUpPostgres } from "./BackedUpPostgres.ts"

/** The number of orders of each method in each of three groups: `before`, `open` and `after`. */
const ORDERS_PER_METHOD = 2
const TOP_UPS = {
  qris: { method: "qris", amount_idr: 20_000 },
  hosted_qris: { method: "hosted_qris", amount_idr: 20_000 },
  crypto: { method: "crypto", amount_usd_micro: 5_000_000 },
  crypto_bep20: { method: "crypto_bep20", amount_usd_micro: 5_000_000 }
}
const METHODS = Object.values(TOP_UPS)
const SKIPPED = "100"
/** A stream that runs at the restored time, and lasts longer than the trial. */
const LONG: Play = { deltas: 100_000, everyMillis: 100 }
const CREDIT_MILLIS = 600_000
/** The operation ids of mints before and after the restored time. */
const [BEFORE, AFTER] = ["before", "after"] as const

interface Order {
  readonly id: string
  readonly address: string
}

const print = (text: string) => process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
const faults: Array<string> = []
const expectEqual = (what: string, found: unknown, wanted: unknown) => {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    faults.push(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`)
  }
}

readProgram({})
buildThisCheckout()
const directory = ownDirectory(mkdtempSync(join(tmpdir(), "tollgate-backup-")))
const processes = new Processes(join(directory, "logs"))
const scope = Effect.runSync(Scope.make())
const { baseUrl: paymentsUrl } = await Effect.runPromise(Scope.extend(PaymentSimulator.start(), scope))
const upstream = await ScriptedUpstream.start()
upstream.always(asPlayed())
let gateways: Gateways | undefined

const call = async (gateways: Gateways, method: string, path: string, body?: object): Promise<unknown> => {
  const response = await fetch(`${gateways.urls[0]}/api/reseller${path}`, {
    method,
    headers: { authorization: `Bearer ${gateways.reseller.token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return JSON.parse(text)
}

const openOrders = async (gateways: Gateways): Promise<ReadonlyArray<Order>> => {
  const orders: Array<Order> = []
  for (const topUp of METHODS.flatMap((topUp) => Array.from({ length: ORDERS_PER_METHOD }, () => topUp))) {
    const body = await call(gateways, "POST", "/topup", topUp)
    const isBep20 = topUp.method === "crypto_bep20"
    orders.push({ id: textIn(body, "id"), address: isBep20 ? textIn(body, "deposit_address") : "" })
  }
  return orders
}

const pay = async (orders: ReadonlyArray<Order>): Promise<void> => {
  for (const { id } of orders) {
    const response = await fetch(`${paymentsUrl}/pay/RTO-${id}`, { method: "POST" })
    if (!response.ok) throw new Error(`paying ${id}: ${response.status} ${await response.text()}`)
  }
}

const credited = (gateways: Gateways, orders: ReadonlyArray<Order>): Promise<void> =>
  eventually("credited orders", CREDIT_MILLIS, async () => {
    for (const { id } of orders) {
      if (textIn(await call(gateways, "GET", `/topup/${id}`), "status") !== "credited") return false
    }
    return true
  })

/** Mints a plan, creates an API key and sends a request. Returns the secret of the key. */
const work = async (gateways: Gateways, name: string): Promise<string> => {
  const { customerEmail, customerId, tierId } = gateways.reseller
  await call(gateways, "POST", "/mint", { operation_id: name, customer_email: customerEmail, plan_tier_id: tierId })
  const key = await call(gateways, "POST", `/customers/${customerId}/keys`, { name })
  const response = await fetch(`${gateways.urls[0]}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateways.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }] })
  })
  if (!response.ok) throw new Error(`a request: ${response.status} ${await response.text()}`)
  return textIn(key, "secret")
}

const statusOf = async (gateways: Gateways, secret: string): Promise<number> =>
  (await fetch(`${gateways.urls[0]}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })).status

/** Runs a command that must fail, and returns the JSON that it prints. */
const problemOf = async (gateways: Gateways, ...args: ReadonlyArray<string>): Promise<unknown> => {
  try {
    await gateways.tollgate(...args)
  } catch (error) {
    const { stdout } = error as { readonly stdout?: string }
    if (stdout !== undefined) return JSON.parse(stdout)
  }
  throw new Error(`tollgate ${args.join(" ")} reported no problem`)
}

/**
 * Repeats a mint with the same operation id. Returns true if the earlier mint is in the database, so nothing was
 * booked.
 */
const mintAgain = async (gateways: Gateways, name: string): Promise<unknown> => {
  const { customerEmail, tierId } = gateways.reseller
  const body = { operation_id: name, customer_email: customerEmail, plan_tier_id: tierId }
  return ((await call(gateways, "POST", "/mint", body)) as { readonly already_applied: unknown }).already_applied
}

const sorted = (texts: ReadonlyArray<string>): ReadonlyArray<string> => [...texts].sort()

/** Writes the payments of the three payment providers as the lines of an export. BNB Smart Chain has no export. */
const writeExport = async (): Promise<string> => {
  const { payments } = (await (await fetch(`${paymentsUrl}/payments`)).json()) as {
    readonly payments: ReadonlyArray<Readonly<Record<string, unknown>>>
  }
  const lines = payments.filter(({ provider }) => provider !== "bsc").map((payment) => JSON.stringify(payment))
  const file = join(directory, "export.csv")
  writeFileSync(file, lines.join("\r\n"))
  return file
}

try {
  const postgres = await BackedUpPostgres.start(processes, directory)
  print("Postgres runs, and there is a full backup")
  gateways = await Gateways.start(postgres.url, upstream.baseUrl, directory, Number(new URL(paymentsUrl).port))
  // The orders `before` are paid before the restored time. The orders `open` are opened before this time and paid after
  // this time.
  const [before, open] = [await openOrders(gateways), await openOrders(gateways)]
  await pay(before)
  await credited(gateways, before)
  const earlyKey = await work(gateways, BEFORE)
  const stream = StreamClient.open(gateways.urls[0] ?? "", gateways.key, LONG)
  await eventually("a checkpoint of the stream", CREDIT_MILLIS, async () => {
    const stored = await postgres.query("SELECT 1 FROM open_request WHERE checkpoint_output > 0")
    return stored.length === 1
  })
  const [row] = await postgres.query<{ now: Date }>("SELECT clock_timestamp() AS now")
  const target = new Date((row?.now.getTime() ?? 0) + 500)
  await sleep(2_000)
  const received = stream.deltas.length

  // The orders `after` are opened and paid after the restored time.
  const after = await openOrders(gateways)
  await pay([...open, ...after])
  await credited(gateways, [...open, ...after])
  const lateKey = await work(gateways, AFTER)
  stream.leave()
  await gateways.stop()
  await postgres.stop()
  print(`the database and the gateways are stopped; restoring to ${target.toISOString()}`)
  const begunMillis = performance.now()
  await postgres.restore(target)
  print(`restored in ${((performance.now() - begunMillis) / 1_000).toFixed(1)} s`)

  await gateways.tollgate("audit")
  print("audit clean")
  const skipped = (await gateways.tollgate("topups", "skip-addresses", "--count", SKIPPED, "--reason", "restore")) as {
    readonly first_index: number
    readonly last_index: number
  }
  const found = (await gateways.tollgate(
    ...["topups", "deposits", "--from", String(skipped.first_index), "--to", String(skipped.last_index)]
  )) as ReadonlyArray<{ readonly address: string; readonly received_usd_micro: string }>
  const lostDeposits = after.filter(({ address }) => address !== "")
  expectEqual(
    "the lost deposits",
    sorted(found.map(({ address }) => address)),
    sorted(lostDeposits.map(({ address }) => address))
  )
  print(`deposits to addresses that no order has: ${found.length}`)

  const reconciled = (await gateways.tollgate("topups", "reconcile")) as { readonly credited: number }
  expectEqual("orders that were open at the restored time", reconciled.credited, open.length)
  print(`orders that were open at the restored time, credited by reconcile: ${reconciled.credited}`)

  const report = (await problemOf(gateways, "topups", "unknown", "--export", await writeExport())) as {
    readonly orders: ReadonlyArray<{ readonly order_number: string; readonly state: string }>
  }
  const lostOrders = after.filter(({ address }) => address === "").map(({ id }) => `RTO-${id}`)
  expectEqual("the unknown orders", sorted(report.orders.map(({ order_number }) => order_number)), sorted(lostOrders))
  print(`orders of payment providers that are not in the database: ${report.orders.length}`)

  for (const number of [...lostOrders, ...lostDeposits.map(({ id }) => `RTO-${id}`)]) {
    const amount = ["--usd-micro", "2000000", "--operation-id", number, "--reason", "restore"]
    for (const repeated of [false, true]) {
      const adjusted = await gateways.tollgate("quota", "adjust", "--reseller", "reseller@example.com", ...amount)
      expectEqual("a repeated credit", (adjusted as { readonly already_applied: boolean }).already_applied, repeated)
    }
  }
  await gateways.launch(directory)
  const given = new Set(
    [...before, ...open, ...after].map(({ address }) => address).filter((address) => address !== "")
  )
  for (const { address } of await openOrders(gateways)) {
    if (given.has(address)) faults.push(`the deposit address ${address} was given out twice`)
  }
  expectEqual("a key that was created before the restored time", await statusOf(gateways, earlyKey), 200)
  expectEqual("a key that was created after the restored time", await statusOf(gateways, lateKey), 401)
  expectEqual("a repeated mint that is not lost", await mintAgain(gateways, BEFORE), true)
  expectEqual("a repeated mint that is lost", await mintAgain(gateways, AFTER), false)
  await work(gateways, "after the restore")
  await eventually("the settlement of the stream", CREDIT_MILLIS, async () => {
    return (await postgres.query("SELECT 1 FROM open_request")).length === 0
  })
  const [charged] = await postgres.query<{ ending: string; output: number }>(
    `SELECT ending, charged_output::int AS output FROM settlement WHERE request_id = '${stream.requestId}'`
  )
  if (charged?.ending !== "orphaned" || charged.output === 0 || charged.output > received) {
    faults.push(`the stream that ran at the restored time: ${JSON.stringify(charged)}, received then: ${received}`)
  }
  print(`the stream that ran at the restored time: charged ${charged?.output} of ${received} tokens`)
  for (const { id } of [...before, ...open]) {
    const [row] = await postgres.query<{ credits: number }>(
      `SELECT count(*)::int AS credits FROM transfer WHERE code = 'topup' AND ref = '${id}'`
    )
    expectEqual(`the credits of the order ${id}`, row?.credits, 1)
  }
  await gateways.tollgate("audit")
  print("the gateways serve, and the audit is clean")
} catch (error) {
  faults.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
} finally {
  await gateways?.stop()
  await processes.endAll()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await upstream.close().catch(() => {})
  for (const fault of faults) process.stdout.write(`FAULT: ${fault}\n`)
  if (faults.length > 0) print(`the logs are in ${directory}`)
  else rmSync(directory, { recursive: true, force: true })
  process.exit(faults.length === 0 ? 0 : 1)
}
