/**
 * Describes NOWPayments as a payment provider: its environment variables, and the adapter settings that are made from
 * these variables.
 */
import {
  Credential,
  HttpAddress,
  listOf,
  optional,
  withDefault
} from "@tollgate/application/operations/EnvironmentSchema"
import * as Schema from "effect/Schema"
import { productionAddressErrors } from "../wire/PaymentAccount.ts"
import { describeProvider } from "../wire/PaymentProviderDescriptor.ts"
import { make, NAME, type NowPaymentsSettings } from "./NowPayments.ts"
import { coinsOf } from "./NowPaymentsWire.ts"

/** The code of a supported coin. Tollgate counts one token of a supported coin as one dollar. */
const Coin = Schema.String.pipe(Schema.filter((code) => coinsOf([code]).length === 1))

const environment = Schema.Struct({
  NOWPAYMENTS_BASE_URL: withDefault(
    HttpAddress,
    "https://api.nowpayments.io",
    "Base URL of the NOWPayments API, for `crypto`"
  ),
  NOWPAYMENTS_API_KEY: optional(
    Credential,
    "NOWPayments API key; together with NOWPAYMENTS_IPN_SECRET, enables `crypto`"
  ),
  NOWPAYMENTS_IPN_SECRET: optional(Credential, "NOWPayments webhook secret"),
  NOWPAYMENTS_CURRENCIES: withDefault(
    listOf("codes of USDT and USDC, like usdttrc20", Coin),
    ["usdttrc20", "usdcmatic"],
    "NOWPayments codes of the accepted tokens, comma-separated; they must be enabled in the NOWPayments account"
  )
})

export const nowPayments = describeProvider({
  name: NAME,
  method: "crypto",
  environment,
  credentials: ["NOWPAYMENTS_API_KEY", "NOWPAYMENTS_IPN_SECRET"],
  productionErrors: (values) => productionAddressErrors("NOWPAYMENTS_BASE_URL", values.NOWPAYMENTS_BASE_URL),
  settings: (values, terms): NowPaymentsSettings | undefined => {
    const { NOWPAYMENTS_API_KEY: apiKey, NOWPAYMENTS_IPN_SECRET: ipnSecret } = values
    if (apiKey === undefined || ipnSecret === undefined) return undefined
    return {
      ...terms,
      baseUrl: values.NOWPAYMENTS_BASE_URL,
      apiKey,
      ipnSecret,
      currencies: values.NOWPAYMENTS_CURRENCIES
    }
  },
  make
})
