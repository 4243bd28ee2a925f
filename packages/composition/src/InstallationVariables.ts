/**
 * The environment variables of an installation, except those of payments, with their defaults and descriptions.
 *
 * The server and the command line read the same schema, so that a variable has one default and a wrong value one
 * message.
 */
import * as TrustedProxies from "@tollgate/adapters-http/auth/TrustedProxies"
import * as Setting from "@tollgate/application/operations/EnvironmentSchema"
import { optional, withDefault } from "@tollgate/application/operations/EnvironmentSchema"
import type { PaymentMethod } from "@tollgate/domain/topup/PaymentMethod"
import { defaultBounds } from "@tollgate/domain/topup/TopUpRequest"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

const DatabaseUrl = Setting.kind(
  "an address like postgres://user:password@host:5432/database",
  Schema.Redacted(Schema.String.pipe(Schema.pattern(/^postgres(ql)?:\/\//)))
)

const Networks = Schema.String.pipe(Schema.filter((text) => Either.isRight(TrustedProxies.parse(text))))

/** The command line picks the variables it needs; the values of the others do not matter to it. */
export const InstallationVariables = Schema.Struct({
  NODE_ENV: withDefault(Setting.Mode, "development", "`production` refuses demo data, simulators and weak secrets"),
  HOST: withDefault(Setting.Text, "127.0.0.1", "Address to listen on"),
  PORT: withDefault(Setting.Port, 8080, "Port to listen on; 0 takes a free one"),
  DATABASE_URL: optional(
    DatabaseUrl,
    "Postgres 15 or newer; required in production. In development an embedded Postgres in DATA_DIR is the default"
  ),
  DATA_DIR: withDefault(Setting.Text, ".tollgate", "Directory of the embedded Postgres and of generated secrets"),
  CATALOG_FILE: optional(Setting.Text, "Catalog file applied at start"),
  DEMO: optional(
    Setting.Switch,
    "Simulated provider, demo catalog, a demo customer and a demo reseller; default on in development without DATABASE_URL"
  ),
  SIMULATOR_PORT: withDefault(
    Setting.Port,
    4011,
    "Port of the simulated provider, on loopback only; a second server joins the simulator that already listens there"
  ),
  JWT_SECRET: optional(
    Setting.Secret,
    "Signs reseller tokens; 32 characters or more. Development: generated into DATA_DIR"
  ),
  JWT_SECRET_PREVIOUS: optional(
    Setting.Secret,
    "The replaced JWT_SECRET during a rotation: still verifies reseller tokens, signs nothing"
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
    "Comma-separated proxies trusted to set `X-Forwarded-For`; without them the client address is that of the connection"
  ),
  CUSTOMER_LINK_POLICY: withDefault(
    Setting.kind("closed or open", Schema.Literal("closed", "open")),
    "closed",
    "Users a reseller can have as customers: `closed` only users it creates, `open` also existing users, by email"
  ),
  RANKINGS_ENABLED: withDefault(
    Setting.Switch,
    true,
    "Whether `/api/rankings` and `/rankings` publish the usage of each model"
  ),
  METRICS_PORT: withDefault(Setting.Port, 9464, "Port of the Prometheus metrics, on loopback only"),
  KEEPALIVE_SECONDS: withDefault(Setting.Seconds, 15, "Silence on a stream before a keepalive comment"),
  DRAIN_SECONDS: withDefault(
    Setting.wholeNumber("a whole number of seconds", 0, 25),
    20,
    "Time that running requests have to finish at shutdown"
  ),
  NODE_DEAD_AFTER_SECONDS: withDefault(
    Setting.Seconds,
    30,
    "Silence after which a node is dead and its holds are settled"
  )
})

export type InstallationValues = typeof InstallationVariables.Type

const LIMITS = { min: "Smallest top-up by", max: "Largest top-up by" }

const rupiah = (method: PaymentMethod, end: "min" | "max") =>
  withDefault(
    Setting.amount("whole rupiah", 1n, 1_000_000_000_000n),
    defaultBounds[method][end],
    `${LIMITS[end]} \`${method}\`, in rupiah without fee`
  )

const dollars = (method: PaymentMethod, end: "min" | "max") =>
  withDefault(
    Setting.amount("whole micro-USD", 1n, 100_000_000_000_000n),
    defaultBounds[method][end],
    `${LIMITS[end]} \`${method}\`, in micro-USD`
  )

/** The smallest and largest top-up of each method (docs/reference/reseller.md#d1). */
export const TopUpVariables = Schema.Struct({
  TOPUP_QRIS_MIN: rupiah("qris", "min"),
  TOPUP_QRIS_MAX: rupiah("qris", "max"),
  TOPUP_HOSTED_QRIS_MIN: rupiah("hosted_qris", "min"),
  TOPUP_HOSTED_QRIS_MAX: rupiah("hosted_qris", "max"),
  TOPUP_CRYPTO_MIN: dollars("crypto", "min"),
  TOPUP_CRYPTO_MAX: dollars("crypto", "max"),
  TOPUP_CRYPTO_BEP20_MIN: dollars("crypto_bep20", "min"),
  TOPUP_CRYPTO_BEP20_MAX: dollars("crypto_bep20", "max")
})

/** The server's address as a client on the same machine uses it. */
export const localAddress = ({ HOST, PORT }: Pick<InstallationValues, "HOST" | "PORT">): string => {
  const host = HOST === "0.0.0.0" || HOST === "::" ? "127.0.0.1" : HOST
  return `http://${host.includes(":") ? `[${host}]` : host}:${PORT}`
}
