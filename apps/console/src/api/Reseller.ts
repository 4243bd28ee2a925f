/**
 * Reads the data of a reseller that several pages show.
 */
import type { components } from "../../dist/types/GatewayApi.d.ts"
import { jakartaDay } from "../format/Format.ts"
import { api, bodyOf } from "./Client.ts"
import { isPayable } from "./OrderState.ts"

type Schemas = components["schemas"]
export type Order = Schemas["ListedTopUpOrder"]
export type Tier = Schemas["Tier"]
export type MintEntry = Schemas["MintEntry"]
export type ListedKey = Schemas["ListedKey"]
export type UsageItem = Schemas["UsageItem"]

export const readQuota = async (signal: AbortSignal): Promise<bigint> =>
  BigInt((await bodyOf(api.GET("/api/reseller/balance", { signal }))).balance_usd_micro)

export const readTiers = async (signal?: AbortSignal): Promise<ReadonlyArray<Tier>> =>
  (await bodyOf(api.GET("/api/reseller/tiers", signal === undefined ? {} : { signal }))).tiers

/** Returns the names of the models that have a tier for sale. */
export const readSoldModels = async (signal: AbortSignal): Promise<ReadonlyArray<string>> => [
  ...new Set((await readTiers(signal)).map(({ model_name }) => model_name))
]

export const readCustomers = async (signal?: AbortSignal) =>
  (await bodyOf(api.GET("/api/reseller/customers", signal === undefined ? {} : { signal }))).customers

export type CustomerEntry = Awaited<ReturnType<typeof readCustomers>>[number]

export interface Sales {
  readonly count: number
  readonly usdMicro: bigint
  /** False if there are more mints than were read. `count` and `usdMicro` are then too low. */
  readonly isComplete: boolean
  readonly latest: ReadonlyArray<MintEntry>
}

const PAGE_SIZE = 100
const MAX_PAGES = 10

/** Returns the first day of the current month in Jakarta. */
export const firstOfMonth = (): string => `${jakartaDay().slice(0, 7)}-01`

/**
 * Returns the number, the sum and the latest five of the mints from the day `from` on. The gateway returns them in
 * pages. At most `MAX_PAGES` pages are read.
 */
export const readSales = async (from: string, signal: AbortSignal): Promise<Sales> => {
  const mints: Array<MintEntry> = []
  let cursor: string | null = null
  for (let page = 0; page < MAX_PAGES; page++) {
    const query: { limit: number; from: string; cursor?: string } = { limit: PAGE_SIZE, from }
    if (cursor !== null) query.cursor = cursor
    const read: Schemas["MintPage"] = await bodyOf(api.GET("/api/reseller/mints", { params: { query }, signal }))
    mints.push(...read.data)
    cursor = read.next_cursor
    if (cursor === null) break
  }
  const usdMicro = mints.reduce((sum, mint) => sum + BigInt(mint.price_usd_micro), 0n)
  return { count: mints.length, usdMicro, isComplete: cursor === null, latest: mints.slice(0, 5) }
}

/**
 * Returns the orders that can still be paid, and the paid orders that are not credited yet. Reads only the 50 newest
 * orders, because older orders are usually credited or expired.
 */
export const readOrdersInProgress = async (signal: AbortSignal): Promise<ReadonlyArray<Order>> => {
  const { topups } = await bodyOf(api.GET("/api/reseller/topups", { params: { query: { limit: 50 } }, signal }))
  return topups.filter(({ status, expires_at }) => status === "crediting" || isPayable({ status, expires_at }))
}
