/**
 * Payment instructions as they are stored: raw amounts as digits, and what is absent left out.
 */
import { TokenRaw } from "@tollgate/domain/money/TokenRaw"
import type { PaymentInstructions } from "@tollgate/domain/topup/PaymentMethod"

/** As `jsonText` writes them. */
export type StoredInstructions = {
  [Tag in PaymentInstructions["_tag"]]: Stored<Extract<PaymentInstructions, { readonly _tag: Tag }>>
}[PaymentInstructions["_tag"]]

type Stored<Of> = { readonly [Member in keyof Of]: Of[Member] extends bigint ? string : Of[Member] }

export const toInstructions = (stored: StoredInstructions): PaymentInstructions => {
  switch (stored._tag) {
    case "Qris":
      return { ...stored, qrImageUrl: stored.qrImageUrl }
    case "HostedQris":
      return stored
    case "Crypto":
      return { ...stored, depositAddresses: stored.depositAddresses.map((one) => ({ ...one, memo: one.memo })) }
    case "Bep20":
      return { ...stored, expectedRaw: TokenRaw(BigInt(stored.expectedRaw)) }
  }
}
