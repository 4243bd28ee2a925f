/**
 * Every setting of the server, with its default and what it is for. Each is an environment variable of that name.
 *
 * A wrong value is one clear line naming the variable; all of them are told at once. Production refuses what is only
 * fit for a laptop: demo data, simulators, missing or weak secrets.
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

const Switch = Schema.transform(Schema.Literal("1", "0", "true", "false", "on", "off"), Schema.Boolean, {
  strict: true,
  decode: (text) => text === "1" || text === "true" || text === "on",
  encode: (value) => (value ? "on" : "off")
})
const Port = Schema.NumberFromString.pipe(Schema.int(), Schema.between(0, 65_535))
const Seconds = Schema.NumberFromString.pipe(Schema.int(), Schema.between(1, 3_600))
const Word = Schema.String.pipe(Schema.pattern(/^[a-z][a-z0-9]{0,31}$/))
const Secret = Schema.Redacted(Schema.String.pipe(Schema.minLength(32)))

const setting = <A, I>(schema: Schema.Schema<A, I>, description: string) => schema.annotations({ description })

/** The variables, in the order the operations page lists them. */
export const Environment = Schema.Struct({
  NODE_ENV: Schema.optionalWith(
    setting(
      Schema.Literal("development", "production", "test"),
      "`production` refuses demo data, simulators and weak secrets"
    ),
    { default: () => "development" as const }
  ),
  HOST: Schema.optionalWith(setting(Schema.NonEmptyString, "Address to listen on"), { default: () => "127.0.0.1" }),
  PORT: Schema.optionalWith(setting(Port, "Port to listen on; 0 takes a free one"), { default: () => 8080 }),
  DATABASE_URL: Schema.optional(
    setting(
      Schema.Redacted(Schema.String.pipe(Schema.pattern(/^postgres(ql)?:\/\//))),
      "Postgres 15 or newer. Without it the server runs its own in DATA_DIR"
    )
  ),
  DATA_DIR: Schema.optionalWith(
    setting(Schema.NonEmptyString, "Where the embedded Postgres and generated secrets live"),
    { default: () => ".tollgate" }
  ),
  CATALOG_FILE: Schema.optional(setting(Schema.NonEmptyString, "Catalog file applied at start")),
  DEMO: Schema.optional(
    setting(
      Switch,
      "Simulated supplier, demo catalog and a demo customer; default on in development without DATABASE_URL"
    )
  ),
  JWT_SECRET: Schema.optional(
    setting(Secret, "Signs reseller tokens; 32 characters or more. Development: generated into DATA_DIR")
  ),
  KEY_PEPPER: Schema.optional(
    setting(Secret, "Keys the digests of API keys; 32 characters or more. Development: generated into DATA_DIR")
  ),
  SERVICE_NAME: Schema.optionalWith(setting(Word, "Name in the `x-<name>-billing` header"), {
    default: () => "tollgate"
  }),
  KEY_PREFIX: Schema.optionalWith(setting(Word, "First part of every API key"), { default: () => "tg" }),
  CORS_ORIGIN: Schema.optionalWith(setting(Schema.NonEmptyString, "Browser origin allowed to call; `*` for any"), {
    default: () => "*"
  }),
  METRICS_PORT: Schema.optionalWith(setting(Port, "Prometheus metrics, on loopback only"), { default: () => 9464 }),
  KEEPALIVE_SECONDS: Schema.optionalWith(setting(Seconds, "Silence on a stream before a keepalive comment"), {
    default: () => 15
  }),
  DRAIN_SECONDS: Schema.optionalWith(
    setting(
      Schema.NumberFromString.pipe(Schema.int(), Schema.between(0, 25)),
      "How long running requests may finish at shutdown"
    ),
    { default: () => 20 }
  ),
  NODE_DEAD_AFTER_SECONDS: Schema.optionalWith(
    setting(Seconds, "Silence after which a node is dead and its holds are settled"),
    { default: () => 30 }
  )
})

type Values = typeof Environment.Type

export interface Config extends Omit<Values, "DEMO"> {
  readonly demo: boolean
  readonly production: boolean
}

/** The settings in these variables, or every reason why they cannot be used, one line each. */
export const readConfig = (environment: NodeJS.ProcessEnv): Either.Either<Config, ReadonlyArray<string>> => {
  // An empty variable is one that was not set.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""))
  return Schema.decodeUnknownEither(Environment, { errors: "all" })(given).pipe(
    Either.mapLeft((error) =>
      ParseResult.ArrayFormatter.formatErrorSync(error).map(({ path, message }) => {
        const name = String(path[0])
        return `${name}: ${isSecret(name) ? "32 characters or more are needed" : message}`
      })
    ),
    Either.flatMap((values) => {
      const production = values.NODE_ENV === "production"
      const { DEMO, ...rest } = values
      const config = { ...rest, production, demo: DEMO ?? (!production && values.DATABASE_URL === undefined) }
      const refusals = production ? unfitForProduction(config) : []
      return refusals.length > 0 ? Either.left(refusals) : Either.right(config)
    })
  )
}

const isSecret = (name: string): boolean => name === "JWT_SECRET" || name === "KEY_PEPPER" || name === "DATABASE_URL"

const unfitForProduction = (config: Config): ReadonlyArray<string> => {
  const refusals: Array<string> = []
  if (config.demo) refusals.push("DEMO: the demo and its simulated supplier do not run in production; unset it")
  for (const name of ["JWT_SECRET", "KEY_PEPPER"] as const) {
    const secret = config[name]
    if (secret === undefined) refusals.push(`${name}: required in production; try: openssl rand -base64 48`)
    else if (isWeak(Redacted.value(secret)))
      refusals.push(`${name}: too weak for production; try: openssl rand -base64 48`)
  }
  return refusals
}

/** A secret that repeats few characters, or says what it is, was typed and not drawn. */
const isWeak = (secret: string): boolean =>
  new Set(secret).size < 12 || /secret|change|password|default|example|0123456789|abcdef/i.test(secret)
