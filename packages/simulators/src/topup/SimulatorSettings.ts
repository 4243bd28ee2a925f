/**
 * Keys that open nothing but the simulator, and the settings with which the real adapters talk to it.
 */
import { createHash } from "node:crypto"
import { HDKey } from "@scure/bip32"
import type { BscSettings } from "@tollgate/adapters-upstream/topup/bsc/BscSettings"
import type {
  MidtransSettings,
  NowPaymentsSettings,
  TripaySettings
} from "@tollgate/adapters-upstream/topup/wire/PaymentSettings"
import * as Redacted from "effect/Redacted"

export const SIMULATED_MIDTRANS = {
  serverKey: "SIMULATOR-NOT-A-KEY-midtrans-server",
  merchantId: "GSIMULATED"
} as const

export const SIMULATED_TRIPAY = {
  apiKey: "SIMULATOR-NOT-A-KEY-tripay-api",
  privateKey: "SIMULATOR-NOT-A-KEY-tripay-private",
  merchantCode: "TSIMULATED",
  channel: "QRIS2"
} as const

export const SIMULATED_NOWPAYMENTS = {
  apiKey: "SIMULATOR-NOT-A-KEY-nowpayments-api",
  ipnSecret: "SIMULATOR-NOT-A-KEY-nowpayments-ipn",
  currencies: ["usdttrc20", "usdtbsc", "usdcmatic", "usdcbase"]
} as const

export interface SimulatorSettings {
  readonly midtrans: MidtransSettings
  readonly tripay: TripaySettings
  readonly nowPayments: NowPaymentsSettings
  readonly bsc: BscSettings
}

export interface SimulatorSettingsOptions {
  /**
   * Names the database: servers of one database share it and their deposit addresses, servers of another one that join
   * the same simulator must not. Anything will do that is different where the database is.
   */
  readonly deployment: string
  /** Of the gateway, for the webhooks: `http://127.0.0.1:8080`. */
  readonly gatewayUrl?: string
}

/** For a simulator at this address. */
export const simulatorSettings = (
  simulatorUrl: string,
  { deployment, gatewayUrl }: SimulatorSettingsOptions
): SimulatorSettings => {
  const at = (provider: string, expiryMinutes: number) => ({
    baseUrl: `${simulatorUrl}/${provider}`,
    simulated: true,
    callbackUrl: gatewayUrl === undefined ? undefined : `${gatewayUrl}/webhooks/payments/${provider}`,
    expiryMinutes
  })
  return {
    midtrans: {
      ...at("midtrans", 15),
      serverKey: Redacted.make(SIMULATED_MIDTRANS.serverKey),
      acquirer: "gopay"
    },
    tripay: {
      ...at("tripay", 60),
      apiKey: Redacted.make(SIMULATED_TRIPAY.apiKey),
      privateKey: Redacted.make(SIMULATED_TRIPAY.privateKey),
      merchantCode: SIMULATED_TRIPAY.merchantCode,
      channel: SIMULATED_TRIPAY.channel,
      returnUrl: gatewayUrl
    },
    nowPayments: {
      ...at("nowpayments", 60),
      apiKey: Redacted.make(SIMULATED_NOWPAYMENTS.apiKey),
      ipnSecret: Redacted.make(SIMULATED_NOWPAYMENTS.ipnSecret),
      currencies: SIMULATED_NOWPAYMENTS.currencies
    },
    bsc: {
      rpcUrls: [Redacted.make(`${simulatorUrl}/bsc`)],
      xpub: Redacted.make(throwAwayXpub(deployment)),
      rpcQuorum: 1,
      logRange: 2_000,
      expiryMinutes: 60,
      simulated: true
    }
  }
}

/** Of a wallet that anybody can make who knows the name: nothing sent there is anybody's own. */
const throwAwayXpub = (deployment: string): string => {
  const seed = createHash("sha512").update(`SIMULATOR NOT REAL ${deployment}`).digest()
  return HDKey.fromMasterSeed(seed).derive("m/44'/60'/0'/0").publicExtendedKey
}
