/**
 * The configuration of a server, read from the environment.
 *
 * A wrong value gives one line that names the variable, and all wrong values are reported together. Production refuses
 * settings for development only: demo data, simulators, missing or weak secrets.
 */
import { type PaymentConfig, readPaymentConfig } from "@tollgate/adapters-upstream/topup/PaymentConfig"
import { PaymentVariables } from "@tollgate/adapters-upstream/topup/PaymentVariables"
import * as Setting from "@tollgate/application/operations/EnvironmentSchema"
import type { TopUpBounds } from "@tollgate/domain/topup/TopUpRequest"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { InstallationVariables, localAddress, TopUpVariables } from "./InstallationVariables.ts"

/** Every variable, in the order of the operations page. */
export const Environment = Schema.Struct({
  ...InstallationVariables.fields,
  ...PaymentVariables.fields,
  ...TopUpVariables.fields
})

type EnvironmentValues = typeof Environment.Type

export interface ServerConfig extends EnvironmentValues {
  readonly demo: boolean
  readonly production: boolean
  readonly payments: PaymentConfig
  readonly topUpBounds: TopUpBounds
}

/** The configuration in these variables, or every reason why they cannot be used, one line each. */
export const readServerConfig = (
  environment: Setting.Environment
): Either.Either<ServerConfig, ReadonlyArray<string>> =>
  Either.flatMap(Setting.readSettings(Environment)(environment), (values) => {
    const production = values.NODE_ENV === "production"
    const demo = values.DEMO ?? (!production && values.DATABASE_URL === undefined)
    const payments = readPaymentConfig(values, { production })
    const topUpBounds = boundsOf(values)
    const refusals = [
      ...(production ? unfitForProduction({ ...values, demo }) : []),
      ...(values.JWT_SECRET_PREVIOUS !== undefined && values.JWT_SECRET === undefined
        ? ["JWT_SECRET: needed beside JWT_SECRET_PREVIOUS"]
        : []),
      ...(Either.isLeft(payments) ? payments.left : []),
      ...(Either.isLeft(topUpBounds) ? topUpBounds.left : [])
    ]
    if (Either.isLeft(payments) || Either.isLeft(topUpBounds) || refusals.length > 0) return Either.left(refusals)
    return Either.right({ ...values, production, demo, payments: payments.right, topUpBounds: topUpBounds.right })
  })

/** The address of this server: PUBLIC_BASE_URL, else its local address, which is unknown while PORT is 0. */
export const ownAddress = (values: EnvironmentValues): string | undefined =>
  values.PUBLIC_BASE_URL ?? (values.PORT === 0 ? undefined : localAddress(values))

const boundsOf = (values: EnvironmentValues): Either.Either<TopUpBounds, ReadonlyArray<string>> => {
  const reasons = (["QRIS", "HOSTED_QRIS", "CRYPTO", "CRYPTO_BEP20"] as const)
    .filter((method) => values[`TOPUP_${method}_MIN`] > values[`TOPUP_${method}_MAX`])
    .map((method) => `TOPUP_${method}_MIN: is above TOPUP_${method}_MAX`)
  if (reasons.length > 0) return Either.left(reasons)
  return Either.right({
    qris: { min: values.TOPUP_QRIS_MIN, max: values.TOPUP_QRIS_MAX },
    hosted_qris: { min: values.TOPUP_HOSTED_QRIS_MIN, max: values.TOPUP_HOSTED_QRIS_MAX },
    crypto: { min: values.TOPUP_CRYPTO_MIN, max: values.TOPUP_CRYPTO_MAX },
    crypto_bep20: { min: values.TOPUP_CRYPTO_BEP20_MIN, max: values.TOPUP_CRYPTO_BEP20_MAX }
  })
}

const unfitForProduction = (config: EnvironmentValues & { readonly demo: boolean }): ReadonlyArray<string> => {
  const refusals: Array<string> = []
  if (config.demo) refusals.push("DEMO: the demo and its simulated provider do not run in production; unset it")
  for (const name of ["JWT_SECRET", "KEY_PEPPER", "JWT_SECRET_PREVIOUS"] as const) {
    const secret = config[name]
    if (secret === undefined) {
      if (name !== "JWT_SECRET_PREVIOUS") refusals.push(`${name}: required in production; try: openssl rand -base64 48`)
    } else if (isWeak(Redacted.value(secret)))
      refusals.push(`${name}: too weak for production; try: openssl rand -base64 48`)
  }
  return refusals
}

/** A secret that repeats few characters or contains a typical word was not generated at random. */
const isWeak = (secret: string): boolean =>
  new Set(secret).size < 12 || /secret|change|password|default|example|0123456789|abcdef/i.test(secret)
