/**
 * Describes Tripay as a payment provider: its environment variables, and the adapter settings that are made from these
 * variables.
 */
import {
  Credential,
  HttpAddress,
  kind,
  optional,
  Text,
  withDefault
} from "@tollgate/application/operations/EnvironmentSchema"
import * as Schema from "effect/Schema"
import { productionAddressErrors } from "../wire/PaymentAccount.ts"
import { describeProvider } from "../wire/PaymentProviderDescriptor.ts"
import { make, NAME, type TripaySettings } from "./Tripay.ts"

const PageAddress = kind(
  "a URL like https://example.com/done",
  Schema.String.pipe(
    Schema.pattern(/^https?:\/\/\S+$/),
    Schema.filter((text) => URL.canParse(text))
  )
)

const environment = Schema.Struct({
  TRIPAY_BASE_URL: withDefault(
    HttpAddress,
    "https://tripay.co.id/api",
    "Base URL of the Tripay API, for `hosted_qris`"
  ),
  TRIPAY_API_KEY: optional(
    Credential,
    "Tripay API key; together with TRIPAY_PRIVATE_KEY and TRIPAY_MERCHANT_CODE, enables `hosted_qris`"
  ),
  TRIPAY_PRIVATE_KEY: optional(Credential, "Tripay private key, for signatures"),
  TRIPAY_MERCHANT_CODE: optional(Text, "Tripay merchant code"),
  TRIPAY_CHANNEL: withDefault(Text, "QRIS2", "Tripay QRIS channel; the merchant must pay the fee of the channel"),
  TRIPAY_RETURN_URL: optional(PageAddress, "URL that the Tripay payment page links to after the payment")
})

export const tripay = describeProvider({
  name: NAME,
  method: "hosted_qris",
  environment,
  credentials: ["TRIPAY_API_KEY", "TRIPAY_PRIVATE_KEY", "TRIPAY_MERCHANT_CODE"],
  productionErrors: (values) => productionAddressErrors("TRIPAY_BASE_URL", values.TRIPAY_BASE_URL),
  settings: (values, terms): TripaySettings | undefined => {
    const { TRIPAY_API_KEY: apiKey, TRIPAY_PRIVATE_KEY: privateKey, TRIPAY_MERCHANT_CODE: merchantCode } = values
    if (apiKey === undefined || privateKey === undefined || merchantCode === undefined) return undefined
    return {
      ...terms,
      baseUrl: values.TRIPAY_BASE_URL,
      apiKey,
      privateKey,
      merchantCode,
      channel: values.TRIPAY_CHANNEL,
      returnUrl: values.TRIPAY_RETURN_URL
    }
  },
  make
})
