/**
 * What the settings of payments come to: which providers take them, or that a simulator does.
 */
import type { PaymentMethod } from "@tollgate/domain/topup/PaymentMethod"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { type BscSettings, readNodes } from "./bsc/BscSettings.ts"
import * as DepositAddresses from "./bsc/DepositAddresses.ts"
import type { PaymentAccounts } from "./ConfiguredProviders.ts"
import type { PaymentValues } from "./PaymentVariables.ts"
import { isSandbox } from "./wire/PaymentSettings.ts"

export interface PaymentConfig {
  /** Port of the simulator, where it takes all payments. */
  readonly simulatorPort: number | undefined
  /** Who takes payments otherwise; without any of them there are no top-ups. */
  readonly accounts: PaymentAccounts
  readonly expiryMinutes: Readonly<Record<PaymentMethod, number>>
}

/** What these values come to, or why they do not go together, one line for each reason. */
export const readPaymentConfig = (
  values: PaymentValues,
  { production }: { readonly production: boolean }
): Either.Either<PaymentConfig, ReadonlyArray<string>> => {
  const expiryMinutes = {
    qris: values.TOPUP_EXPIRY_QRIS_MIN,
    hosted_qris: values.TOPUP_EXPIRY_HOSTED_QRIS_MIN,
    crypto: values.TOPUP_EXPIRY_CRYPTO_MIN,
    crypto_bep20: values.TOPUP_EXPIRY_CRYPTO_BEP20_MIN
  }
  const chosen = CREDENTIALS.flatMap((needed) => needed.filter((name) => values[name] !== undefined))
  const simulated = values.PAYMENTS_SIMULATOR ?? (!production && chosen.length === 0)
  const reasons = [
    ...CREDENTIALS.flatMap((needed) => halfConfigured(values, needed)),
    ...refusedSimulator(simulated, production, chosen),
    ...(production ? unfitForProduction(values, chosen) : []),
    ...unusableNodes(bscOf(values, expiryMinutes.crypto_bep20))
  ]
  if (reasons.length > 0) return Either.left(reasons)
  return Either.right({
    simulatorPort: simulated ? values.PAYMENTS_SIM_PORT : undefined,
    accounts: accountsOf(values, expiryMinutes),
    expiryMinutes
  })
}

type Name = keyof PaymentValues

/** What each provider cannot do without. */
const CREDENTIALS: ReadonlyArray<ReadonlyArray<Name>> = [
  ["MIDTRANS_SERVER_KEY"],
  ["TRIPAY_API_KEY", "TRIPAY_PRIVATE_KEY", "TRIPAY_MERCHANT_CODE"],
  ["NOWPAYMENTS_API_KEY", "NOWPAYMENTS_IPN_SECRET"],
  ["BSC_RPC_URLS", "BSC_XPUB"]
]

const halfConfigured = (values: PaymentValues, needed: ReadonlyArray<Name>): ReadonlyArray<string> => {
  const there = needed.filter((name) => values[name] !== undefined)
  const missing = needed.filter((name) => values[name] === undefined)
  if (there.length === 0 || missing.length === 0) return []
  return [`${missing.join(", ")}: needed beside ${there.join(", ")}; set what is missing, or unset all`]
}

const refusedSimulator = (
  simulated: boolean,
  production: boolean,
  chosen: ReadonlyArray<Name>
): ReadonlyArray<string> => {
  if (!simulated) return []
  if (production) return ["PAYMENTS_SIMULATOR: simulated payments do not run in production; unset it"]
  if (chosen.length === 0) return []
  return [`PAYMENTS_SIMULATOR: does not run beside a provider; unset it, or ${chosen.join(", ")}`]
}

const unfitForProduction = (values: PaymentValues, chosen: ReadonlyArray<Name>): ReadonlyArray<string> => {
  const addresses = [
    ["MIDTRANS_BASE_URL", "MIDTRANS_SERVER_KEY"],
    ["TRIPAY_BASE_URL", "TRIPAY_API_KEY"],
    ["NOWPAYMENTS_BASE_URL", "NOWPAYMENTS_API_KEY"]
  ] as const
  return [
    ...addresses
      .filter(([, credential]) => chosen.includes(credential))
      .flatMap(([name]) => {
        if (isSandbox(values[name])) return [`${name}: payments of a sandbox do not run in production`]
        return values[name].startsWith("https://") ? [] : [`${name}: an https address is needed in production`]
      }),
    ...(values.BSC_RPC_URLS ?? [])
      .filter((url) => !Redacted.value(url).startsWith("https://"))
      .slice(0, 1)
      .map(() => "BSC_RPC_URLS: https addresses are needed in production; who is on the way could invent payments"),
    ...chosen
      .filter((name) => isTheSimulators(values[name]))
      .map((name) => `${name}: is the simulator's, which does not run in production`)
  ]
}

const isTheSimulators = (value: PaymentValues[Name]): boolean =>
  Redacted.isRedacted(value) && /SIMULATOR/.test(String(Redacted.value(value)))

/** What the adapter would refuse at its first call is told at once. */
const unusableNodes = (settings: BscSettings | undefined): ReadonlyArray<string> => {
  if (settings === undefined) return []
  const nodes = readNodes(settings)
  const addresses = DepositAddresses.read(settings.xpub, settings)
  return [
    ...(Either.isLeft(nodes) ? [`BSC_RPC_URLS: ${nodes.left}`] : []),
    ...(Either.isLeft(addresses) ? [`BSC_XPUB: ${addresses.left}`] : [])
  ]
}

const accountsOf = (values: PaymentValues, expiryMinutes: PaymentConfig["expiryMinutes"]): PaymentAccounts => {
  const { MIDTRANS_SERVER_KEY, TRIPAY_API_KEY, TRIPAY_MERCHANT_CODE, TRIPAY_PRIVATE_KEY } = values
  const { NOWPAYMENTS_API_KEY, NOWPAYMENTS_IPN_SECRET, PUBLIC_BASE_URL } = values
  const account = (name: string, baseUrl: string, method: PaymentMethod) => ({
    baseUrl,
    simulated: false,
    callbackUrl: PUBLIC_BASE_URL === undefined ? undefined : `${PUBLIC_BASE_URL}/webhooks/payments/${name}`,
    expiryMinutes: expiryMinutes[method]
  })
  return {
    qris:
      MIDTRANS_SERVER_KEY === undefined
        ? undefined
        : {
            ...account("midtrans", values.MIDTRANS_BASE_URL, "qris"),
            serverKey: MIDTRANS_SERVER_KEY,
            acquirer: values.MIDTRANS_QRIS_ACQUIRER
          },
    hostedQris:
      TRIPAY_API_KEY === undefined || TRIPAY_PRIVATE_KEY === undefined || TRIPAY_MERCHANT_CODE === undefined
        ? undefined
        : {
            ...account("tripay", values.TRIPAY_BASE_URL, "hosted_qris"),
            apiKey: TRIPAY_API_KEY,
            privateKey: TRIPAY_PRIVATE_KEY,
            merchantCode: TRIPAY_MERCHANT_CODE,
            channel: values.TRIPAY_CHANNEL,
            returnUrl: values.TRIPAY_RETURN_URL
          },
    crypto:
      NOWPAYMENTS_API_KEY === undefined || NOWPAYMENTS_IPN_SECRET === undefined
        ? undefined
        : {
            ...account("nowpayments", values.NOWPAYMENTS_BASE_URL, "crypto"),
            apiKey: NOWPAYMENTS_API_KEY,
            ipnSecret: NOWPAYMENTS_IPN_SECRET,
            currencies: values.NOWPAYMENTS_CURRENCIES
          },
    cryptoBep20: bscOf(values, expiryMinutes.crypto_bep20)
  }
}

const bscOf = (values: PaymentValues, expiryMinutes: number): BscSettings | undefined => {
  const { BSC_RPC_URLS, BSC_XPUB } = values
  if (BSC_RPC_URLS === undefined || BSC_XPUB === undefined) return undefined
  return {
    rpcUrls: BSC_RPC_URLS,
    xpub: BSC_XPUB,
    rpcQuorum: values.BSC_RPC_QUORUM,
    logRange: values.BSC_LOG_RANGE,
    expiryMinutes,
    simulated: false
  }
}
