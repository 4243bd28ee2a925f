/**
 * Reads the configuration of a server from the environment.
 *
 * Each wrong value produces one line that names the variable. All malformed values are reported together. If no value
 * is malformed, all missing, weak and contradictory values are reported together. Production refuses the demo,
 * simulators, and a missing or weak JWT_SECRET or KEY_PEPPER.
 */
import { type PaymentConfig, readPaymentConfig } from "@tollgate/adapters-upstream/topup/PaymentConfig"
import { PaymentVariables } from "@tollgate/adapters-upstream/topup/PaymentVariables"
import * as Setting from "@tollgate/application/operations/EnvironmentSchema"
import type { TopUpBounds } from "@tollgate/domain/topup/TopUpRequest"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { DeploymentVariables, isEveryAddress, localAddress, TopUpVariables } from "./DeploymentVariables.ts"
import { whiteSpaceErrors } from "./Secrets.ts"

/**
 * The environment variables of the server, except the API keys of model providers, in the order of docs/operations.md.
 */
export const Environment = Schema.Struct({
  ...DeploymentVariables.fields,
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

/** Returns the configuration in these variables, or one line per error. */
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
        ? ["JWT_SECRET: required if JWT_SECRET_PREVIOUS is set"]
        : []),
      ...(values.KEY_PEPPER_PREVIOUS !== undefined && values.KEY_PEPPER === undefined
        ? ["KEY_PEPPER: required if KEY_PEPPER_PREVIOUS is set"]
        : []),
      ...whiteSpaceErrors(values),
      ...(listensTwice(values) ? ["METRICS_PORT: must differ from PORT"] : []),
      ...(Either.isLeft(payments) ? payments.left : []),
      ...(Either.isLeft(topUpBounds) ? topUpBounds.left : [])
    ]
    if (Either.isLeft(payments) || Either.isLeft(topUpBounds) || refusals.length > 0) return Either.left(refusals)
    return Either.right({ ...values, production, demo, payments: payments.right, topUpBounds: topUpBounds.right })
  })

/** Returns PUBLIC_BASE_URL, or the local URL of this server. Returns undefined if both are unknown before the start. */
export const ownAddress = (values: EnvironmentValues): string | undefined =>
  values.PUBLIC_BASE_URL ?? localAddress(values)

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
  if (config.demo) refusals.push("DEMO: the demo and its simulated provider do not run in production; unset DEMO")
  for (const name of ["JWT_SECRET", "KEY_PEPPER", "JWT_SECRET_PREVIOUS", "KEY_PEPPER_PREVIOUS"] as const) {
    const secret = config[name]
    if (secret === undefined) {
      if (!name.endsWith("_PREVIOUS")) refusals.push(`${name}: required in production; try: openssl rand -base64 48`)
    } else if (isWeak(Redacted.value(secret)))
      refusals.push(`${name}: too weak for production; try: openssl rand -base64 48`)
  }
  return refusals
}

/** Returns true if the metrics would listen on the public port. Another host with the same port is another address. */
const listensTwice = ({ HOST, METRICS_HOST, METRICS_PORT, PORT }: EnvironmentValues): boolean =>
  PORT !== 0 && METRICS_PORT === PORT && (METRICS_HOST === HOST || [HOST, METRICS_HOST].some(isEveryAddress))

/**
 * Returns whether a secret is probably not random: it has few different characters, or contains a typical word or
 * sequence.
 */
const isWeak = (secret: string): boolean =>
  new Set(secret).size < 12 || /secret|change|password|default|example|0123456789|abcdef/i.test(secret)
