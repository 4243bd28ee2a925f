/**
 * Numbers as JSON-RPC nodes write them: short ones (a block, a time) as quantities, those of contracts as words of 32
 * bytes.
 */
import * as Schema from "effect/Schema"

/** A quantity small enough to be counted with. */
export const Quantity = Schema.transform(
  Schema.String.pipe(Schema.pattern(/^0x[0-9a-f]{1,13}$/i)),
  Schema.NonNegativeInt,
  { strict: true, decode: (text) => Number.parseInt(text, 16), encode: (n) => quantityOf(n) }
)

/** An unsigned integer of 256 bits; exact. */
export const Word = Schema.transform(
  Schema.String.pipe(Schema.pattern(/^0x[0-9a-f]{64}$/i)),
  Schema.NonNegativeBigIntFromSelf,
  { strict: true, decode: (text) => BigInt(text), encode: (n) => `0x${n.toString(16).padStart(64, "0")}` }
)

export const quantityOf = (n: number): `0x${string}` => `0x${n.toString(16)}`
