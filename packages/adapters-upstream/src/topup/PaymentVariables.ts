/**
 * The environment variables of payments: those of the installation, of each provider in the registry, and of each
 * method.
 *
 * They are fields of a schema rather than Effect's `Config`, so that a program adds them to its own, reports all errors
 * together, and lists them with their descriptions on the operations page.
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

const INSTALLATION = {
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
    "Public address of the servers, like https://gateway.example.com: for webhooks of payment providers and QR images"
  )
}

const expiry = (method: string, minutes: number, from: number, to: number) =>
  withDefault(
    wholeNumber("a whole number of minutes", from, to),
    minutes,
    `Minutes until an order by \`${method}\` expires`
  )

const EXPIRY = {
  TOPUP_EXPIRY_QRIS_MIN: expiry("qris", 15, 1, 1_440),
  TOPUP_EXPIRY_HOSTED_QRIS_MIN: expiry("hosted_qris", 60, 10, 1_440),
  TOPUP_EXPIRY_CRYPTO_MIN: expiry("crypto", 60, 10, 10_080),
  TOPUP_EXPIRY_CRYPTO_BEP20_MIN: expiry("crypto_bep20", 60, 10, 10_080)
}

type Fields = typeof INSTALLATION & typeof EXPIRY

/** Only the variables common to all providers are in the type; each descriptor validates its own. */
export const paymentVariables = (providers: ReadonlyArray<PaymentProviderDescriptor>): Schema.Struct<Fields> => {
  const ofProviders: Schema.Struct.Fields = Object.assign({}, ...providers.map(({ fields }) => fields))
  const fields: Fields = { ...INSTALLATION, ...ofProviders, ...EXPIRY }
  return Schema.Struct(fields)
}

export const PaymentVariables = paymentVariables(PAYMENT_PROVIDERS)

/** Decoded values, with those of the providers among them. */
export type PaymentValues = Schema.Struct.Type<Fields> & Variables
