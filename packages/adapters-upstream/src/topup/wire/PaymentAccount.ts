/**
 * Describes an account at a payment provider: the settings that every provider gets, the label that orders store, and
 * whether payments to the account are real money.
 */
import type { PaymentLimits } from "./PaymentHttp.ts"

/** The settings that every provider gets. */
export interface PaymentTerms {
  /**
   * True if the provider is a simulator on this machine. `PaymentProvider.simulated` is also true at a provider's
   * sandbox.
   */
  readonly atSimulator: boolean
  /** The URL to which the provider sends webhooks. If undefined, payments are opened without such a URL. */
  readonly webhookUrl: string | undefined
  /** Minutes from the creation of an order until it expires. */
  readonly expiryMinutes: number
}

/** The settings of an account at a provider that has an HTTP API. */
export interface AccountSettings extends PaymentTerms {
  /** The base URL of the provider's API with its path, for example `https://tripay.co.id/api-sandbox`. */
  readonly baseUrl: string
  readonly limits?: Partial<PaymentLimits>
}

/**
 * Returns whether a base URL belongs to a provider's test system. The test systems of Midtrans, Tripay and NOWPayments
 * all have "sandbox" in their base URL.
 */
export const isSandbox = (baseUrl: string): boolean => /sandbox/i.test(baseUrl)

/** Returns the label that orders store: the name of the provider, with a suffix for an account without real money. */
export const labelOf = (name: string, { baseUrl, atSimulator }: AccountSettings): string => {
  if (atSimulator) return `${name}-simulator`
  return isSandbox(baseUrl) ? `${name}-sandbox` : name
}

export const isRealMoney = ({ baseUrl, atSimulator }: AccountSettings): boolean => !atSimulator && !isSandbox(baseUrl)

/**
 * Returns why a base URL is not allowed in production: the URL belongs to a sandbox, or does not use https. Returns an
 * empty list if the URL is allowed. `name` is the environment variable that contains the URL.
 */
export const productionAddressErrors = (name: string, baseUrl: string): ReadonlyArray<string> => {
  if (isSandbox(baseUrl)) return [`${name}: sandbox payments are not allowed in production`]
  return baseUrl.startsWith("https://") ? [] : [`${name}: an https URL is required in production`]
}

/**
 * Returns true if a payment URL may be shown to a payer: the URL uses https, or http with the origin of the provider's
 * base URL.
 */
export const isPayable = (address: string, { baseUrl }: AccountSettings): boolean => {
  if (!URL.canParse(address)) return false
  const { protocol, origin } = new URL(address)
  return protocol === "https:" || (protocol === "http:" && origin === new URL(baseUrl).origin)
}
