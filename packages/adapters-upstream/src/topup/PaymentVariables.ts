/**
 * Defines the environment variables that configure payments: general variables, variables of each provider in the
 * registry, and variables of each payment method.
 *
 * The variables are schema fields and not an Effect `Config`. A program can therefore add them to its own schema and
 * report all errors together, and a test can compare their descriptions with docs/operations.md.
 */
import {
  HttpAddress,
  optional,
  Port,
  Switch,
  wholeNumber,
  withDefault
} from "@tollgate/application/operations/EnvironmentSchema"
import * as Schema from "effect/Schema"
import { PAYMENT_PROVIDERS } from "./PaymentProviderRegistry.ts"
import type { PaymentProviderDescriptor, Variables } from "./wire/PaymentProviderDescriptor.ts"

const DEPLOYMENT = {
  PAYMENTS_SIMULATOR: optional(
    Switch,
    "Runs simulated payment providers on this machine. Default: on, unless NODE_ENV is production or a payment provider is configured"
  ),
  PAYMENTS_SIM_PORT: withDefault(
    Port,
    4010,
    "Port of the payment simulator, on loopback only; a second server joins the simulator that already listens there"
  ),
  PUBLIC_BASE_URL: optional(
    HttpAddress,
    "Public base URL of the servers, for webhooks of payment providers and QR images. Example: `https://gateway.example.com`"
  )
}

const expiry = (method: string, minutes: number, from: number, to: number) =>
  withDefault(
    wholeNumber("a whole number of minutes", from, to),
    minutes,
    `Minutes until a \`${method}\` order expires`
  )

const EXPIRY = {
  TOPUP_EXPIRY_QRIS_MIN: expiry("qris", 15, 1, 1_440),
  TOPUP_EXPIRY_HOSTED_QRIS_MIN: expiry("hosted_qris", 60, 10, 1_440),
  TOPUP_EXPIRY_CRYPTO_MIN: expiry("crypto", 60, 10, 10_080),
  TOPUP_EXPIRY_CRYPTO_BEP20_MIN: expiry("crypto_bep20", 60, 10, 10_080)
}

type Fields = typeof DEPLOYMENT & typeof EXPIRY

/**
 * Returns the schema of all variables. Its TypeScript type contains only the variables that do not belong to a
 * provider. Each descriptor validates the variables of its provider.
 */
export const paymentVariables = (providers: ReadonlyArray<PaymentProviderDescriptor>): Schema.Struct<Fields> => {
  const ofProviders: Schema.Struct.Fields = Object.assign({}, ...providers.map(({ fields }) => fields))
  const fields: Fields = { ...DEPLOYMENT, ...ofProviders, ...EXPIRY }
  return Schema.Struct(fields)
}

export const PaymentVariables = paymentVariables(PAYMENT_PROVIDERS)

/** The decoded values of all variables, including the variables of providers. */
export type PaymentValues = Schema.Struct.Type<Fields> & Variables
