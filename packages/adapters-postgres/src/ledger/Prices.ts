/**
 * The prices that holds name. A price row never changes.
 */

import { PriceId } from "@tollgate/domain/catalog/Model"
import { PicoPerToken, type Price } from "@tollgate/domain/ledger/Price"
import type { Ask, Statement } from "./DedicatedConnection.ts"

export const readPrices = async (ask: Ask, priceIds: ReadonlyArray<PriceId>): Promise<(id: PriceId) => Price> => {
  const rows = await ask(READ, [[...new Set(priceIds)]])
  const prices = new Map(
    rows.map((row) => {
      const [id, input, cacheWrite, cacheRead, output] = row as PriceRow
      const price: Price = {
        input: PicoPerToken(input),
        cacheWrite: PicoPerToken(cacheWrite),
        cacheRead: PicoPerToken(cacheRead),
        output: PicoPerToken(output)
      }
      return [PriceId(id), price]
    })
  )
  return (id) => {
    const price = prices.get(id)
    if (price === undefined) throw new Error(`there is no price ${id}`)
    return price
  }
}

type PriceRow = readonly [id: string, input: bigint, cacheWrite: bigint, cacheRead: bigint, output: bigint]

const READ: Statement = {
  name: "read_prices",
  text: "SELECT id, input, cache_write, cache_read, output FROM price WHERE id = ANY ($1::uuid[])"
}
