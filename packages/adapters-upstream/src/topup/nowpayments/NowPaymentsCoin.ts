/**
 * A dollar token on one network, by the code NOWPayments has for it: `usdttrc20`, `usdcbase`.
 */
import type { TokenKind } from "@tollgate/domain/topup/PaymentMethod"

export interface NowPaymentsCoin {
  readonly code: string
  readonly tokenKind: TokenKind
  /** Unless the provider names it. */
  readonly network: string
}

/** More addresses than anybody reads. */
export const COINS_AT_MOST = 8

/** One each, in the order given. Codes of other coins are left out: they are not worth a dollar. */
export const coinsOf = (codes: ReadonlyArray<string>): ReadonlyArray<NowPaymentsCoin> => {
  const unique = new Set(codes.map((code) => code.trim().toLowerCase()))
  return [...unique].flatMap((code) => coinOf(code) ?? []).slice(0, COINS_AT_MOST)
}

const coinOf = (code: string): NowPaymentsCoin | undefined => {
  const match = /^(usdt|usdc)([a-z0-9]*)$/.exec(code)
  if (match === null) return undefined
  return { code, tokenKind: match[1] === "usdt" ? "usdt" : "usdc", network: match[2] || "eth" }
}
