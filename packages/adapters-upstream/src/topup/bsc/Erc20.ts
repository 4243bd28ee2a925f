/**
 * What is asked of a token contract, in the encoding of the EVM: the first four bytes of the hash of a function's
 * signature, then its arguments as words.
 */

/** `decimals()` */
export const DECIMALS_CALL = "0x313ce567"

/** `balanceOf(address)` */
export const balanceOfCall = (holder: string): string => `0x70a08231${word(holder)}`

/** `Transfer(address,address,uint256)` */
export const TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

/** Selects the transfers to a holder, whoever sent them. */
export const transferTopicsTo = (holder: string): ReadonlyArray<string | null> => [
  TRANSFER_TOPIC,
  null,
  `0x${word(holder)}`
]

const word = (address: string): string => address.slice("0x".length).toLowerCase().padStart(64, "0")
