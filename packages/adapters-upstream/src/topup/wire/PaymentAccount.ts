/**
 * An account at a payment provider: the settings that every provider has, the label that its orders store, and whether
 * the account uses real money.
 */
import type { PaymentLimits } from "./PaymentHttp.ts"

/** Settings that are the same for all providers. */
export interface PaymentTerms {
  /** True if the provider is a simulator on this machine, without real money. */
  readonly simulated: boolean
  /** Our webhook URL, to which the provider reports payments. If undefined, payments are only polled. */
  readonly callbackUrl: string | undefined
  /** Minutes from the creation of an order until it expires. */
  readonly expiryMinutes: number
}

/** The settings of an account that is used over HTTP. */
export interface AccountSettings extends PaymentTerms {
  /** The base URL including a path, for example `https://tripay.co.id/api-sandbox`. */
  readonly baseUrl: string
  readonly limits?: Partial<PaymentLimits>
}

/** Returns whether a URL belongs to a test system: Midtrans, Tripay and NOWPayments all use "sandbox" in that URL. */
export const isSandbox = (baseUrl: string): boolean => /sandbox/i.test(baseUrl)

/** Returns the provider name that orders store. A suffix marks an account without real money. */
export const labelOf = (name: string, { baseUrl, simulated }: AccountSettings): string => {
  if (simulated) return `${name}-simulator`
  return isSandbox(baseUrl) ? `${name}-sandbox` : name
}

export const isRealMoney = ({ baseUrl, simulated }: AccountSettings): boolean => !simulated && !isSandbox(baseUrl)

/**
 * Returns the errors of a base URL in production: a sandbox or no https. `name` is the environment variable of the URL.
 */
export const productionAddressErrors = (name: string, baseUrl: string): ReadonlyArray<string> => {
  if (isSandbox(baseUrl)) return [`${name}: sandbox payments are not allowed in production`]
  return baseUrl.startsWith("https://") ? [] : [`${name}: an https URL is required in production`]
}

/** Returns whether a payer may open a URL: it must use https or have the origin of the provider's base URL. */
export const isPayable = (address: string, { baseUrl }: AccountSettings): boolean => {
  if (!URL.canParse(address)) return false
  const { protocol, origin } = new URL(address)
  return protocol === "https:" || (protocol === "http:" && origin === new URL(baseUrl).origin)
}
