/**
 * An account at a payment provider: the settings that every provider has, the label its orders store, and whether its
 * money is real.
 */
import type { PaymentLimits } from "./PaymentHttp.ts"

/** Settings that are common to all providers, so that none has its own variables for them. */
export interface PaymentTerms {
  /** The provider is a simulator on this machine, and no money is real. */
  readonly simulated: boolean
  /** Our webhook, where the provider reports payments. Without it payments are only polled. */
  readonly callbackUrl: string | undefined
  /** From the creation of an order until it expires. */
  readonly expiryMinutes: number
}

/** An account that is reached over HTTP. */
export interface AccountSettings extends PaymentTerms {
  /** With its path, for example `https://tripay.co.id/api-sandbox`. */
  readonly baseUrl: string
  readonly limits?: Partial<PaymentLimits>
}

/** Midtrans, Tripay and NOWPayments all have their test system at an address of this name. */
export const isSandbox = (baseUrl: string): boolean => /sandbox/i.test(baseUrl)

/** The provider's name in orders. A suffix marks an account without real money. */
export const labelOf = (name: string, { baseUrl, simulated }: AccountSettings): string => {
  if (simulated) return `${name}-simulator`
  return isSandbox(baseUrl) ? `${name}-sandbox` : name
}

export const isRealMoney = ({ baseUrl, simulated }: AccountSettings): boolean => !simulated && !isSandbox(baseUrl)

/** Production refuses a sandbox and an unencrypted connection; `name` is the variable that holds the address. */
export const productionAddressErrors = (name: string, baseUrl: string): ReadonlyArray<string> => {
  if (isSandbox(baseUrl)) return [`${name}: payments of a sandbox do not run in production`]
  return baseUrl.startsWith("https://") ? [] : [`${name}: an https address is needed in production`]
}

/** A payer may be sent to an https address, or to the origin of the provider itself. */
export const isPayable = (address: string, { baseUrl }: AccountSettings): boolean => {
  if (!URL.canParse(address)) return false
  const { protocol, origin } = new URL(address)
  return protocol === "https:" || (protocol === "http:" && origin === new URL(baseUrl).origin)
}
