/**
 * Every setting of the server, with its default and what it is for. Each is an environment variable of that name.
 *
 * A wrong value is one clear line naming the variable; all of them are told at once. Production refuses what is only
 * fit for a laptop: demo data, simulators, missing or weak secrets.
 */
import * as TrustedProxies from "@tollgate/adapters-http/auth/TrustedProxies"
import { type PaymentConfig, readPaymentConfig } from "@tollgate/adapters-upstream/topup/PaymentConfig"
import { PaymentVariables } from "@tollgate/adapters-upstream/topup/PaymentVariables"
import * as Setting from "@tollgate/application/operations/EnvironmentSchema"
import { optional, withDefault } from "@tollgate/application/operations/EnvironmentSchema"
import type { TopUpBounds } from "@tollgate/domain/topup/TopUpRequest"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { BoundsVariables, readBounds } from "./TopUpBounds.ts"

const DatabaseUrl = Setting.kind(
  "an address like postgres://user:password@host:5432/database",
  Schema.Redacted(Schema.String.pipe(Schema.pattern(/^postgres(ql)?:\/\//)))
)

const Networks = Schema.String.pipe(Schema.filter((text) => Either.isRight(TrustedProxies.parse(text))))

/** The variables, in the order the operations page lists them. */
export const Environment = Schema.Struct({
  NODE_ENV: withDefault(Setting.Mode, "development", "`production` refuses demo data, simulators and weak secrets"),
  HOST: withDefault(Setting.Text, "127.0.0.1", "Address to listen on"),
  PORT: withDefault(Setting.Port, 8080, "Port to listen on; 0 takes a free one"),
  DATABASE_URL: optional(DatabaseUrl, "Postgres 15 or newer. Without it the server runs its own in DATA_DIR"),
  DATA_DIR: withDefault(Setting.Text, ".tollgate", "Where the embedded Postgres and generated secrets live"),
  CATALOG_FILE: optional(Setting.Text, "Catalog file applied at start"),
  DEMO: optional(
    Setting.Switch,
    "Simulated supplier, demo catalog, a demo customer and a demo reseller; default on in development without DATABASE_URL"
  ),
  SIMULATOR_PORT: withDefault(
    Setting.Port,
    4011,
    "Port of the simulated supplier, on loopback only; a second server uses the one that is there"
  ),
  JWT_SECRET: optional(
    Setting.Secret,
    "Signs reseller tokens; 32 characters or more. Development: generated into DATA_DIR"
  ),
  JWT_SECRET_PREVIOUS: optional(
    Setting.Secret,
    "Verifies reseller tokens beside JWT_SECRET while that is being replaced, and signs nothing"
  ),
  KEY_PEPPER: optional(
    Setting.Secret,
    "Keys the digests of API keys; 32 characters or more. Development: generated into DATA_DIR"
  ),
  SERVICE_NAME: withDefault(Setting.Word, "tollgate", "Name in the `x-<name>-billing` header"),
  KEY_PREFIX: withDefault(Setting.Word, "tg", "First part of every API key"),
  CORS_ORIGIN: withDefault(Setting.Text, "*", "Browser origin allowed to call; `*` for any"),
  TRUSTED_PROXIES: optional(
    Setting.kind("a list of addresses or networks, like 10.0.0.0/8,", Networks),
    "Proxies whose `X-Forwarded-For` is believed, with commas between them; without them a client is who connects"
  ),
  CUSTOMER_LINK_POLICY: withDefault(
    Setting.kind("closed or open", Schema.Literal("closed", "open")),
    "closed",
    "Whom a reseller may have as a customer: `closed` whom it creates, `open` anybody whose email it knows"
  ),
  RANKINGS_ENABLED: withDefault(
    Setting.Switch,
    true,
    "Whether `/api/rankings` and `/rankings` tell how much each model is used"
  ),
  METRICS_PORT: withDefault(Setting.Port, 9464, "Prometheus metrics, on loopback only"),
  KEEPALIVE_SECONDS: withDefault(Setting.Seconds, 15, "Silence on a stream before a keepalive comment"),
  DRAIN_SECONDS: withDefault(
    Setting.wholeNumber("a whole number of seconds", 0, 25),
    20,
    "How long running requests may finish at shutdown"
  ),
  NODE_DEAD_AFTER_SECONDS: withDefault(
    Setting.Seconds,
    30,
    "Silence after which a node is dead and its holds are settled"
  ),
  ...PaymentVariables.fields,
  ...BoundsVariables.fields
})

type Values = typeof Environment.Type

export interface Config extends Values {
  readonly demo: boolean
  readonly production: boolean
  readonly payments: PaymentConfig
  readonly topUpBounds: TopUpBounds
}

/** The settings in these variables, or every reason why they cannot be used, one line each. */
export const readConfig = (environment: Setting.Environment): Either.Either<Config, ReadonlyArray<string>> =>
  Either.flatMap(Setting.readSettings(Environment)(environment), (values) => {
    const production = values.NODE_ENV === "production"
    const demo = values.DEMO ?? (!production && values.DATABASE_URL === undefined)
    const payments = readPaymentConfig(values, { production })
    const topUpBounds = readBounds(values)
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

/** Where this server is reached: by the world as it was told, else on this machine, as far as that is known yet. */
export const ownAddress = ({ HOST, PORT, PUBLIC_BASE_URL }: Values): string | undefined => {
  if (PUBLIC_BASE_URL !== undefined) return PUBLIC_BASE_URL
  if (PORT === 0) return undefined
  const host = HOST === "0.0.0.0" || HOST === "::" ? "127.0.0.1" : HOST
  return `http://${host.includes(":") ? `[${host}]` : host}:${PORT}`
}

const unfitForProduction = (config: Values & { readonly demo: boolean }): ReadonlyArray<string> => {
  const refusals: Array<string> = []
  if (config.demo) refusals.push("DEMO: the demo and its simulated supplier do not run in production; unset it")
  for (const name of ["JWT_SECRET", "KEY_PEPPER", "JWT_SECRET_PREVIOUS"] as const) {
    const secret = config[name]
    if (secret === undefined) {
      if (name !== "JWT_SECRET_PREVIOUS") refusals.push(`${name}: required in production; try: openssl rand -base64 48`)
    } else if (isWeak(Redacted.value(secret)))
      refusals.push(`${name}: too weak for production; try: openssl rand -base64 48`)
  }
  return refusals
}

/** A secret that repeats few characters, or says what it is, was typed and not drawn. */
const isWeak = (secret: string): boolean =>
  new Set(secret).size < 12 || /secret|change|password|default|example|0123456789|abcdef/i.test(secret)
