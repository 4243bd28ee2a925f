/**
 * Signatures of Tripay, made with the merchant's private key: ours under a payment, theirs under a callback.
 */
import { createHmac } from "node:crypto"
import type { Idr } from "@tollgate/domain/money/Idr"
import * as Redacted from "effect/Redacted"

export const ofPayment = (
  merchantCode: string,
  merchantRef: string,
  amount: Idr,
  privateKey: Redacted.Redacted<string>
): string => hmac(privateKey, `${merchantCode}${merchantRef}${amount}`).toString("hex")

/** Over the bytes as they came. */
export const ofCallback = (body: Uint8Array, privateKey: Redacted.Redacted<string>): Buffer => hmac(privateKey, body)

const hmac = (privateKey: Redacted.Redacted<string>, signed: string | Uint8Array): Buffer =>
  createHmac("sha256", Redacted.value(privateKey)).update(signed).digest()
