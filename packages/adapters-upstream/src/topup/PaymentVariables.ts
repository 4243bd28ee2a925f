/**
 * The variables of the environment that say who takes payments.
 *
 * Every program that speaks to providers reads them, the server and the command line; therefore they are described here,
 * beside the adapters, and not in an app. They are fields of a schema rather than Effect's `Config`: a program puts them
 * among its own, tells all that is wrong at once, and lists them with their words on the operations page.
 */
import {
  Credential,
  HttpAddress,
  kind,
  listOf,
  optional,
  Port,
  Switch,
  Text,
  wholeNumber,
  withDefault
} from "@tollgate/application/operations/EnvironmentSchema"
import * as Schema from "effect/Schema"
import { coinsOf } from "./nowpayments/NowPaymentsCoin.ts"

const expiry = (method: string, minutes: number, from: number, to: number) =>
  withDefault(wholeNumber("a whole number of minutes", from, to), minutes, `Minutes a payer has for \`${method}\``)

const PageAddress = kind(
  "an address like https://example.com/done",
  Schema.String.pipe(
    Schema.pattern(/^https?:\/\/\S+$/),
    Schema.filter((text) => URL.canParse(text))
  )
)

/** Codes the adapter knows what to do with. */
const Coin = Schema.String.pipe(Schema.filter((code) => coinsOf([code]).length === 1))

export const PaymentVariables = Schema.Struct({
  PAYMENTS_SIMULATOR: optional(
    Switch,
    "Simulated payment providers on this machine; default on outside production when no provider is configured"
  ),
  PAYMENTS_SIM_PORT: withDefault(
    Port,
    4010,
    "Port of the payment simulator, on loopback only; a second server uses the one that is there"
  ),
  PUBLIC_BASE_URL: optional(
    HttpAddress,
    "Where the world reaches the servers, like https://gateway.example.com: for webhooks of payment providers and QR images"
  ),
  MIDTRANS_BASE_URL: withDefault(HttpAddress, "https://api.midtrans.com", "Midtrans, who takes `qris`"),
  MIDTRANS_SERVER_KEY: optional(Credential, "Its server key; switches `qris` on"),
  MIDTRANS_QRIS_ACQUIRER: withDefault(
    kind("gopay or airpay shopee", Schema.Literal("gopay", "airpay shopee")),
    "gopay",
    "Whose QRIS it is: `gopay` or `airpay shopee`"
  ),
  TRIPAY_BASE_URL: withDefault(HttpAddress, "https://tripay.co.id/api", "Tripay, who takes `hosted_qris`"),
  TRIPAY_API_KEY: optional(Credential, "Its API key; with the next two switches `hosted_qris` on"),
  TRIPAY_PRIVATE_KEY: optional(Credential, "Its private key, for signatures"),
  TRIPAY_MERCHANT_CODE: optional(Text, "Its code of the merchant"),
  TRIPAY_CHANNEL: withDefault(Text, "QRIS2", "Its QRIS channel; the channel's fee must be borne by the merchant"),
  TRIPAY_RETURN_URL: optional(PageAddress, "Where its page sends a payer who is done"),
  NOWPAYMENTS_BASE_URL: withDefault(HttpAddress, "https://api.nowpayments.io", "NOWPayments, who takes `crypto`"),
  NOWPAYMENTS_API_KEY: optional(Credential, "Its API key; with the next one switches `crypto` on"),
  NOWPAYMENTS_IPN_SECRET: optional(Credential, "Its secret of webhooks"),
  NOWPAYMENTS_CURRENCIES: withDefault(
    listOf("codes of USDT and USDC, like usdttrc20", Coin),
    ["usdttrc20", "usdcmatic"],
    "Its codes of the tokens to take, with commas between them; the account must have them switched on"
  ),
  BSC_RPC_URLS: optional(
    listOf("JSON-RPC addresses", Credential),
    "JSON-RPC nodes of BNB Smart Chain, the preferred one first; with the next one switches `crypto_bep20` on"
  ),
  BSC_XPUB: optional(
    Credential,
    "Extended public key (m/44'/60'/0'/0) that deposit addresses are derived from; no other deployment may have it"
  ),
  BSC_LOG_RANGE: withDefault(
    wholeNumber("a whole number of blocks", 1, 100_000),
    2_000,
    "Blocks a node is asked to search for transfers at once"
  ),
  BSC_RPC_QUORUM: withDefault(
    wholeNumber("a whole number of nodes", 1, 8),
    1,
    "So many nodes must agree before a payment counts"
  ),
  TOPUP_EXPIRY_QRIS_MIN: expiry("qris", 15, 1, 1_440),
  TOPUP_EXPIRY_HOSTED_QRIS_MIN: expiry("hosted_qris", 60, 10, 1_440),
  TOPUP_EXPIRY_CRYPTO_MIN: expiry("crypto", 60, 10, 10_080),
  TOPUP_EXPIRY_CRYPTO_BEP20_MIN: expiry("crypto_bep20", 60, 10, 10_080)
})
export type PaymentValues = typeof PaymentVariables.Type
