/**
 * What the providers of payments need to be told. Read from the environment by the server, never here.
 */
import type * as Redacted from "effect/Redacted"
import type { PaymentLimits } from "./PaymentHttp.ts"

/** What every provider with an account on the web needs. */
export interface AccountSettings {
  /** With its path, for example `https://tripay.co.id/api-sandbox`. */
  readonly baseUrl: string
  /** It is a simulator on this machine. */
  readonly simulated: boolean
  /** Where the provider reports payments: our webhook of its name. Without it payments are only asked for. */
  readonly callbackUrl: string | undefined
  /** How long a payer has. */
  readonly expiryMinutes: number
  readonly limits?: Partial<PaymentLimits>
}

export interface MidtransSettings extends AccountSettings {
  readonly serverKey: Redacted.Redacted<string>
  /** Whose QRIS it is. */
  readonly acquirer: "gopay" | "airpay shopee"
}

export interface TripaySettings extends AccountSettings {
  readonly apiKey: Redacted.Redacted<string>
  readonly privateKey: Redacted.Redacted<string>
  readonly merchantCode: string
  /** The QRIS channel of the account, for example `QRIS2`. Its fee must be borne by the merchant. */
  readonly channel: string
  /** Where the hosted page sends a payer who is done. */
  readonly returnUrl: string | undefined
}

export interface NowPaymentsSettings extends AccountSettings {
  readonly apiKey: Redacted.Redacted<string>
  readonly ipnSecret: Redacted.Redacted<string>
  /** Their codes of USDT and USDC on the networks we take, for example `usdttrc20`. */
  readonly currencies: ReadonlyArray<string>
}

/** All three have their test system at an address of this name. */
export const isSandbox = (baseUrl: string): boolean => /sandbox/i.test(baseUrl)

/** What orders call the provider. Money that is not real says so. */
export const labelOf = (name: string, { baseUrl, simulated }: AccountSettings): string => {
  if (simulated) return `${name}-simulator`
  return isSandbox(baseUrl) ? `${name}-sandbox` : name
}

export const isRealMoney = ({ baseUrl, simulated }: AccountSettings): boolean => !simulated && !isSandbox(baseUrl)

/** An address a payer may be sent to: secured, or where the provider itself is. */
export const isPayable = (address: string, { baseUrl }: AccountSettings): boolean => {
  if (!URL.canParse(address)) return false
  const { protocol, origin } = new URL(address)
  return protocol === "https:" || (protocol === "http:" && origin === new URL(baseUrl).origin)
}
