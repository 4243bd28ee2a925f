/**
 * Reads the payment configuration from the environment variables: real payment providers, the payment simulator, or
 * neither.
 */
import type { PaymentMethod } from "@tollgate/domain/topup/PaymentMethod"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { PAYMENT_PROVIDERS } from "./PaymentProviderRegistry.ts"
import type { PaymentValues } from "./PaymentVariables.ts"
import type { ConfiguredProvider, PaymentProviderDescriptor, Variables } from "./wire/PaymentProviderDescriptor.ts"

export interface PaymentConfig {
  /**
   * The TCP port of the payment simulator; undefined if the simulator is off. While it is on, it takes the payments of
   * all methods.
   */
  readonly simulatorPort: number | undefined
  /**
   * The providers whose credentials are set, in the order of the registry. If the list is empty and the simulator is
   * off, top-ups are not possible.
   */
  readonly providers: ReadonlyArray<ConfiguredProvider>
  readonly expiryMinutes: Readonly<Record<PaymentMethod, number>>
}

/** Returns the configuration, or one line per error in the values. */
export const readPaymentConfig = (
  values: PaymentValues,
  { production }: { readonly production: boolean },
  registry: ReadonlyArray<PaymentProviderDescriptor> = PAYMENT_PROVIDERS
): Either.Either<PaymentConfig, ReadonlyArray<string>> => {
  const expiryMinutes = {
    qris: values.TOPUP_EXPIRY_QRIS_MIN,
    hosted_qris: values.TOPUP_EXPIRY_HOSTED_QRIS_MIN,
    crypto: values.TOPUP_EXPIRY_CRYPTO_MIN,
    crypto_bep20: values.TOPUP_EXPIRY_CRYPTO_BEP20_MIN
  }
  const providers = registry.flatMap(
    (descriptor) =>
      descriptor.configure(values, {
        atSimulator: false,
        webhookUrl: webhookAddress(values.PUBLIC_BASE_URL, descriptor.name),
        expiryMinutes: expiryMinutes[descriptor.method]
      }) ?? []
  )
  const credentials = registry.flatMap((descriptor) => presentIn(values, descriptor.credentials))
  const simulated = values.PAYMENTS_SIMULATOR ?? (!production && credentials.length === 0)
  const reasons = [
    ...registry.flatMap((descriptor) => missingCredentials(values, descriptor.credentials)),
    ...simulatorErrors(simulated, production, credentials),
    ...(production ? productionErrors(values, registry) : []),
    ...providers.flatMap(({ errors }) => errors)
  ]
  return reasons.length > 0
    ? Either.left(reasons)
    : Either.right({ simulatorPort: simulated ? values.PAYMENTS_SIM_PORT : undefined, providers, expiryMinutes })
}

/** Returns the URL to which a provider sends its webhooks; `undefined` without a base URL. */
export const webhookAddress = (baseUrl: string | undefined, name: string): string | undefined =>
  baseUrl === undefined ? undefined : `${baseUrl}/webhooks/payments/${name}`

const presentIn = (values: Variables, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.filter((name) => values[name] !== undefined)

const missingCredentials = (values: Variables, names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const present = presentIn(values, names)
  const missing = names.filter((name) => values[name] === undefined)
  if (present.length === 0 || missing.length === 0) return []
  return [
    `${missing.join(", ")}: required together with ${present.join(", ")}; set the missing variables, or unset all`
  ]
}

const simulatorErrors = (
  simulated: boolean,
  production: boolean,
  credentials: ReadonlyArray<string>
): ReadonlyArray<string> => {
  if (!simulated) return []
  if (production) return ["PAYMENTS_SIMULATOR: simulated payments are not allowed in production; unset it"]
  if (credentials.length === 0) return []
  return [
    `PAYMENTS_SIMULATOR: cannot be used together with a payment provider; unset it, or unset ${credentials.join(", ")}`
  ]
}

const productionErrors = (
  values: Variables,
  registry: ReadonlyArray<PaymentProviderDescriptor>
): ReadonlyArray<string> => {
  const inUse = registry.filter(({ credentials }) => presentIn(values, credentials).length > 0)
  return [
    ...inUse.flatMap((descriptor) => descriptor.productionErrors(values)),
    ...inUse
      .flatMap(({ credentials }) => credentials)
      .filter((name) => isSimulatorKey(values[name]))
      .map((name) => `${name}: is a key of the simulator, which does not run in production`)
  ]
}

const isSimulatorKey = (value: unknown): boolean =>
  Redacted.isRedacted(value) && /SIMULATOR/.test(String(Redacted.value(value)))
