/** Checks the database after the trial: every charge, every acknowledged operation of the reseller, and the audit. */
import * as Pg from "pg"
import { compareCharges, type Settlement, type Verdict } from "./Charges.ts"
import { CREDIT_USD_MICRO, type Gateways } from "./Gateways.ts"
import type { Received } from "./RequestLoad.ts"
import type { ResellerLoad } from "./ResellerLoad.ts"

const query = async <Row extends object>(
  url: string,
  text: string,
  values: ReadonlyArray<unknown> = []
): Promise<ReadonlyArray<Row>> => {
  const client = new Pg.Client({ connectionString: url })
  client.on("error", () => {})
  await client.connect()
  try {
    return (await client.query<Row & Pg.QueryResultRow>(text, [...values])).rows
  } finally {
    await client.end()
  }
}

export const openRequests = async (url: string): Promise<number> =>
  (await query(url, "SELECT 1 FROM open_request")).length

/** Call it only after all requests are settled. */
export const checkCharges = async (url: string, received: ReadonlyArray<Received>): Promise<Verdict> => {
  const settlements = await query<Settlement>(
    url,
    `SELECT request_id, charged_input::text, charged_output::text, cost_pico::text FROM settlement`
  )
  const { faults, figures } = compareCharges(received, settlements)
  const [spent] = await query<{ pico: string; balance: string }>(
    url,
    `SELECT (SELECT coalesce(sum(payg_pico), 0)::text FROM settlement s JOIN app_user u ON u.id = s.user_id
              WHERE u.email = 'caller@example.com') AS pico,
            (SELECT (credits_posted - debits_posted)::text FROM account a JOIN app_user u ON u.id = a.user_id
              WHERE a.kind = 'payg' AND u.email = 'caller@example.com') AS balance`
  )
  const isBalanced = BigInt(spent?.balance ?? 0) === CREDIT_USD_MICRO * 1_000_000n - BigInt(spent?.pico ?? 0)
  const unbalanced = `the balance of the customer is not its credit minus its charges: ${JSON.stringify(spent)}`
  return { figures, faults: isBalanced ? faults : [...faults, unbalanced] }
}

/**
 * Checks that each acknowledged mint and credit is booked exactly once, that no other mint is booked, and that each
 * acknowledged order and API key exists.
 */
export const checkOperations = async (url: string, gateways: Gateways, load: ResellerLoad): Promise<Verdict> => {
  const faults: Array<string> = []
  const mints = await query<{ operation_id: string; count: number }>(
    url,
    "SELECT operation_id, count(*)::int AS count FROM mint GROUP BY operation_id"
  )
  const mintCounts = new Map(mints.map(({ count, operation_id }) => [operation_id, count]))
  for (const id of load.mints)
    if (mintCounts.get(id) !== 1) faults.push(`mint ${id}: booked ${mintCounts.get(id) ?? 0} times`)
  const acknowledged = new Set(load.mints)
  for (const id of mintCounts.keys()) if (!acknowledged.has(id)) faults.push(`mint ${id}: booked, never acknowledged`)
  const orders = await query<{ id: string; status: string; credits: number }>(
    url,
    `SELECT o.id, o.status, (SELECT count(*)::int FROM transfer t WHERE t.code = 'topup' AND t.ref = o.id::text) AS credits
     FROM topup_order o WHERE o.provision_state = 'ready'`
  )
  const byId = new Map(orders.map((order) => [order.id, order]))
  for (const id of load.orders) if (!byId.has(id)) faults.push(`order ${id} is lost`)
  for (const id of load.credited) {
    const order = byId.get(id)
    if (order?.status !== "credited" || order.credits !== 1) faults.push(`order ${id}: ${JSON.stringify(order)}`)
  }
  for (const order of orders) if (order.credits > 1) faults.push(`order ${order.id} is credited ${order.credits} times`)
  for (const secret of load.secrets) {
    const response = await fetch(`${gateways.urls[0]}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })
    await response.arrayBuffer()
    if (response.status !== 200) faults.push(`a created API key gets ${response.status}`)
  }
  for (const [name, { length }] of Object.entries({ mints: load.mints, credits: load.credited, keys: load.secrets })) {
    if (length === 0) faults.push(`the trial has no acknowledged ${name}`)
  }
  faults.push(...load.unexpected)
  return {
    figures: {
      "acknowledged mints, each booked once": load.mints.length,
      "acknowledged credits of orders, each booked once": load.credited.length,
      "acknowledged orders": load.orders.length,
      "acknowledged API keys": load.secrets.length,
      "reseller requests refused with 503": load.refused,
      "slowest response to a reseller request, in milliseconds": Math.round(load.slowestMillis)
    },
    faults
  }
}

export const audited = async (gateways: Gateways): Promise<ReadonlyArray<string>> => {
  try {
    await gateways.tollgate("audit")
    return []
  } catch (error) {
    return [`the audit failed: ${String(error)}`]
  }
}
