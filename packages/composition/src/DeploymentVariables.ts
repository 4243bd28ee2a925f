/**
 * Defines the environment variables of a deployment, with their defaults and descriptions. Two groups of variables are
 * defined elsewhere. The adapters of the payment providers define their own variables. The catalog file names the
 * variables that contain the API keys of model providers.
 *
 * The server and the CLI read the same schema, so that a variable has the same default and error message in both.
 */
import { isIP } from "node:net"
import * as TrustedProxies from "@tollgate/adapters-http/http/TrustedProxies"
import * as Setting from "@tollgate/application/operations/EnvironmentSchema"
import { optional, withDefault } from "@tollgate/application/operations/EnvironmentSchema"
import type { PaymentMethod } from "@tollgate/domain/topup/PaymentMethod"
import { defaultBounds } from "@tollgate/domain/topup/TopUpRequest"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

const DatabaseUrl = Setting.kind(
  "a URL like postgres://user:password@host:5432/database",
  Schema.Redacted(Schema.String.pipe(Schema.pattern(/^postgres(ql)?:\/\//)))
)

const Networks = Schema.String.pipe(Schema.filter((text) => Either.isRight(TrustedProxies.parse(text))))

/** An origin in its normal form, like `https://10.0.0.5:8443`. */
const Origin = Schema.transform(Schema.String.pipe(Schema.pattern(/^https?:\/\/[^\s/?#@]+\/?$/)), Schema.String, {
  strict: true,
  decode: (text) => (URL.canParse(text) ? new URL(text).origin : text),
  encode: (text) => text
}).pipe(Schema.filter((text) => URL.canParse(text)))

/** A secret that a client sends in a header. */
const BearerToken = Setting.kind(
  "a secret of 32 ASCII characters or more, without spaces,",
  Schema.Redacted(Schema.String.pipe(Schema.pattern(/^[\x21-\x7e]{32,}$/)))
)

const Host = Setting.kind(
  "an IP address or a host name",
  Schema.String.pipe(Schema.filter((text) => isIP(text) > 0 || /^[\w-]+(\.[\w-]+)*\.?$/.test(text)))
)

/** `*`, or an origin as a browser sends it. Not only web pages have an origin, for example `chrome-extension://id`. */
const BrowserOrigin = Setting.kind(
  "* or an origin like https://app.example.com",
  Schema.String.pipe(Schema.pattern(/^(\*|[a-z][a-z\d+.-]*:\/\/[a-z\d._[\]:-]+)$/))
)

const MAX_WORKERS = 64

const Workers = Setting.kind(
  `auto, or a whole number from 1 to ${MAX_WORKERS},`,
  Schema.Union(Schema.Literal("auto"), Setting.wholeNumber("a whole number", 1, MAX_WORKERS))
)

/** The variables that this file defines, except the limits of top-ups. The CLI reads only some of these variables. */
export const DeploymentVariables = Schema.Struct({
  NODE_ENV: withDefault(Setting.Mode, "development", "`production` refuses demo data, simulators and weak secrets"),
  HOST: withDefault(Host, "127.0.0.1", "IP address or host name to listen on"),
  PORT: withDefault(Setting.Port, 8080, "Port to listen on; 0 selects a free port"),
  WORKERS: withDefault(
    Workers,
    1,
    "Number of processes that serve the port, each as a node; `auto` starts one per processor core"
  ),
  DATABASE_URL: optional(
    DatabaseUrl,
    "Postgres 15 or newer. Default: an embedded Postgres in DATA_DIR, if its package is installed"
  ),
  DATA_DIR: withDefault(Setting.Text, ".tollgate", "Directory of the embedded Postgres and of generated secrets"),
  CATALOG_FILE: optional(Setting.Text, "Catalog file that the server applies at start"),
  DEMO: optional(
    Setting.Switch,
    "Simulated provider, demo catalog and demo customer; also a demo reseller, if no payment provider is configured. Default: on, unless NODE_ENV is production or DATABASE_URL is set"
  ),
  SIMULATOR_PORT: withDefault(
    Setting.Port,
    4011,
    "Port of the simulated provider, on loopback only; a second server joins the simulator that already listens there"
  ),
  JWT_SECRET: optional(
    Setting.Secret,
    "Secret that signs reseller tokens, cursors and links to QR images; 32 characters or more. Default in development: generated into DATA_DIR"
  ),
  JWT_SECRET_PREVIOUS: optional(
    Setting.Secret,
    "Previous JWT_SECRET during a rotation: still verifies tokens, cursors and links, but signs none"
  ),
  KEY_PEPPER: optional(
    Setting.Secret,
    "Secret key for the digests of API keys and the encryption of webhook secrets; 32 characters or more. Default in development: generated into DATA_DIR"
  ),
  KEY_PEPPER_PREVIOUS: optional(
    Setting.Secret,
    "Previous KEY_PEPPER during a rotation: still verifies API keys and decrypts webhook secrets. A used key is stored again under KEY_PEPPER"
  ),
  SERVICE_NAME: withDefault(
    Setting.Word,
    "tollgate",
    "Name in the `x-<name>-billing` header, on the rankings page and in reseller tokens; a change makes earlier tokens invalid"
  ),
  KEY_PREFIX: withDefault(Setting.Word, "tg", "First part of every API key"),
  CORS_ORIGIN: withDefault(BrowserOrigin, "*", "Browser origin that may call the gateway; `*` allows any origin"),
  TRUSTED_PROXIES: optional(
    Setting.kind("a list of IP addresses or networks, like 10.0.0.0/8,", Networks),
    "Comma-separated IP addresses or networks of proxies that may set `X-Forwarded-For`. Default: none, so that the IP address of the connection counts as the client's"
  ),
  CUSTOMER_LINK_POLICY: withDefault(
    Setting.kind("closed or open", Schema.Literal("closed", "open")),
    "closed",
    "Users that a reseller can add as customers. `closed`: only users that it creates. `open`: also existing users, by email"
  ),
  OPERATOR_CONSOLE: optional(
    Setting.Switch,
    "Whether the server serves the operator API under `/api/operator`. Default: on, unless NODE_ENV is production"
  ),
  WEBHOOK_PRIVATE_ORIGINS: optional(
    Setting.listOf("origins like http://10.0.0.5:8080", Origin),
    "Comma-separated origins to which webhooks may be sent although they use http or have a private address. Every reseller can name them in an endpoint. Default: none"
  ),
  RANKINGS_ENABLED: withDefault(
    Setting.Switch,
    true,
    "Whether `/api/rankings` and `/rankings` publish the usage of models"
  ),
  PUBLIC_PRICES: optional(
    Setting.Switch,
    "Whether the page `/` shows the models and their prices. Default: only with the demo"
  ),
  METRICS_HOST: withDefault(
    Host,
    "127.0.0.1",
    "IP address or host name on which the Prometheus metrics listen; they name models and providers, and contain the revenue"
  ),
  METRICS_PORT: withDefault(Setting.Port, 9464, "Port of the Prometheus metrics"),
  METRICS_TOKEN: optional(
    BearerToken,
    "Bearer token that a reader of the metrics must send; 32 characters or more. Default: no token is needed"
  ),
  LOG_LEVEL: withDefault(
    Setting.kind(
      "trace, debug, info, warning, error, fatal or none",
      Schema.Literal("trace", "debug", "info", "warning", "error", "fatal", "none")
    ),
    "info",
    "Lowest level of the entries in the log; `none` writes only errors that prevent the start"
  ),
  LOG_FORMAT: optional(
    Setting.kind("json, logfmt or pretty", Schema.Literal("json", "logfmt", "pretty")),
    "Form of a log line: a JSON object, `key=value` pairs, or a text for people. Default: `json` in production, otherwise `pretty`"
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(
    Setting.HttpAddress,
    "Base URL of an OpenTelemetry collector. The traces of sampled requests are sent to this URL plus `/v1/traces`, as OTLP over HTTP with JSON. Default: no traces"
  ),
  OTEL_EXPORTER_OTLP_HEADERS: optional(
    Setting.kind(
      "a list like name=value,name=value",
      Schema.Redacted(Schema.String.pipe(Schema.pattern(/^[\w-]+=[^,\r\n]*(,\s*[\w-]+=[^,\r\n]*)*$/)))
    ),
    "Headers of the requests to the collector, comma-separated, for example with its API key. Percent-encoded characters of a value are decoded: `%20` is a space"
  ),
  OTEL_SERVICE_NAME: withDefault(Setting.Text, "tollgate", "Name of the service in traces"),
  OTEL_TRACES_SAMPLER_ARG: withDefault(
    Setting.kind(
      "a number from 0 to 1",
      Schema.compose(Schema.String.pipe(Schema.pattern(/^\d(\.\d{1,9})?$/)), Schema.NumberFromString).pipe(
        Schema.between(0, 1)
      )
    ),
    0.01,
    "Fraction of the requests that are traced, from 0 to 1; at most 100 requests per second and process"
  ),
  KEEPALIVE_SECONDS: withDefault(
    Setting.Seconds,
    15,
    "Seconds without output on an event stream before a keepalive comment is sent"
  ),
  DRAIN_SECONDS: withDefault(
    Setting.wholeNumber("a whole number of seconds", 0, 25),
    20,
    "Seconds that running requests have at shutdown to finish"
  ),
  DRAIN_DELAY_SECONDS: optional(
    Setting.wholeNumber("a whole number of seconds", 0, 25),
    "Part of DRAIN_SECONDS in which a stopping server still serves new requests, while `/readyz` returns 503 and each response closes its connection. Default: 5 in production, otherwise 0"
  ),
  NODE_DEAD_AFTER_SECONDS: withDefault(
    Setting.Seconds,
    30,
    "Seconds without a heartbeat after which a node counts as dead and its holds are settled"
  )
})

export type DeploymentValues = typeof DeploymentVariables.Type

const LIMITS = { min: "Smallest top-up by", max: "Largest top-up by" }

const rupiah = (method: PaymentMethod, end: "min" | "max") =>
  withDefault(
    Setting.amount("whole rupiah", 1n, 1_000_000_000_000n),
    defaultBounds[method][end],
    `${LIMITS[end]} \`${method}\`, in rupiah, excluding the fee`
  )

const dollars = (method: PaymentMethod, end: "min" | "max") =>
  withDefault(
    Setting.amount("whole micro-USD", 1n, 100_000_000_000_000n),
    defaultBounds[method][end],
    `${LIMITS[end]} \`${method}\`, in micro-USD`
  )

/** The smallest and the largest amount of a top-up, per payment method (docs/reference/reseller.md#d1). */
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

/** Returns true for a HOST that stands for every address of the machine. */
export const isEveryAddress = (host: string): boolean => host === "0.0.0.0" || host === "::"

/**
 * Returns the URL of the server for a client on the same machine. Returns undefined if PORT is 0, because only the
 * server knows the port that the operating system selects.
 */
export const localAddress = ({ HOST, PORT }: Pick<DeploymentValues, "HOST" | "PORT">): string | undefined => {
  if (PORT === 0) return undefined
  const host = isEveryAddress(HOST) ? "127.0.0.1" : HOST
  return `http://${host.includes(":") ? `[${host}]` : host}:${PORT}`
}

/** Returns true if the servers of this deployment serve the operator API. */
export const servesOperators = ({
  NODE_ENV,
  OPERATOR_CONSOLE
}: Pick<DeploymentValues, "NODE_ENV" | "OPERATOR_CONSOLE">) => OPERATOR_CONSOLE ?? NODE_ENV !== "production"

/** Returns the delay of the drain in seconds. In this time, load balancers can notice that the server stops. */
export const drainDelaySeconds = ({
  DRAIN_DELAY_SECONDS,
  NODE_ENV
}: Pick<DeploymentValues, "NODE_ENV" | "DRAIN_DELAY_SECONDS">): number =>
  DRAIN_DELAY_SECONDS ?? (NODE_ENV === "production" ? 5 : 0)

/** Returns true for a loopback address or `localhost`: only programs on the same machine can connect to this HOST. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host)
