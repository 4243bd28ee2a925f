/**
 * Describes Midtrans as a payment provider: its environment variables, and the adapter settings that are made from
 * these variables.
 */
import {
  Credential,
  HttpAddress,
  kind,
  optional,
  withDefault
} from "@tollgate/application/operations/EnvironmentSchema"
import * as Schema from "effect/Schema"
import { productionAddressErrors } from "../wire/PaymentAccount.ts"
import { describeProvider } from "../wire/PaymentProviderDescriptor.ts"
import { type MidtransSettings, make, NAME } from "./Midtrans.ts"

const environment = Schema.Struct({
  MIDTRANS_BASE_URL: withDefault(HttpAddress, "https://api.midtrans.com", "Base URL of the Midtrans API, for `qris`"),
  MIDTRANS_SERVER_KEY: optional(Credential, "Midtrans server key; enables `qris`"),
  MIDTRANS_QRIS_ACQUIRER: withDefault(
    kind("gopay or airpay shopee", Schema.Literal("gopay", "airpay shopee")),
    "gopay",
    "Acquirer of the Midtrans QRIS codes: `gopay` or `airpay shopee`"
  )
})

export const midtrans = describeProvider({
  name: NAME,
  method: "qris",
  environment,
  credentials: ["MIDTRANS_SERVER_KEY"],
  productionErrors: (values) => productionAddressErrors("MIDTRANS_BASE_URL", values.MIDTRANS_BASE_URL),
  settings: (values, terms): MidtransSettings | undefined =>
    values.MIDTRANS_SERVER_KEY === undefined
      ? undefined
      : {
          ...terms,
          baseUrl: values.MIDTRANS_BASE_URL,
          serverKey: values.MIDTRANS_SERVER_KEY,
          acquirer: values.MIDTRANS_QRIS_ACQUIRER
        },
  make
})
