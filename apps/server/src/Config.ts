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

/** A value of this kind, and what to say when it is none; the value itself is never repeated. */
const kind = <A, I>(needs: string, schema: Schema.Schema<A, I>): Schema.Schema<A, I> =>
  schema.annotations({ message: () => ({ message: `${needs} is needed`, override: true }) })

const wholeNumber = (from: number, to: number) => Schema.NumberFromString.pipe(Schema.int(), Schema.between(from, to))

const Mode = kind("development, production or test", Schema.Literal("development", "production", "test"))
const Text = kind("a text", Schema.NonEmptyString)
const Port = kind("a port from 0 to 65535", wholeNumber(0, 65_535))
const Seconds = kind("a whole number of seconds from 1 to 3600", wholeNumber(1, 3_600))
const Word = kind(
  "a word of small letters and digits, a letter first,",
  Schema.String.pipe(Schema.pattern(/^[a-z][a-z0-9]{0,31}$/))
)
const Secret = kind("a secret of 32 characters or more", Schema.Redacted(Schema.String.pipe(Schema.minLength(32))))
const DatabaseUrl = kind(
  "an address like postgres://user:password@host:5432/database",
  Schema.Redacted(Schema.String.pipe(Schema.pattern(/^postgres(ql)?:\/\//)))
)
const Switch = kind(
  "on or off",
  Schema.transform(Schema.Literal("1", "0", "true", "false", "on", "off"), Schema.Boolean, {
    strict: true,
    decode: (text) => text === "1" || text === "true" || text === "on",
    encode: (value) => (value ? "on" : "off")
  })
)

const optional = <A, I>(schema: Schema.Schema<A, I>, description: string) =>
  Schema.optionalWith(schema.annotations({ description }), { exact: true })
const withDefault = <A, I>(schema: Schema.Schema<A, I>, value: A, description: string) =>
  Schema.optionalWith(schema.annotations({ description }), { exact: true, default: () => value })

/** The variables, in the order the operations page lists them. */
export const Environment = Schema.Struct({
  NODE_ENV: withDefault(Mode, "development", "`production` refuses demo data, simulators and weak secrets"),
  HOST: withDefault(Text, "127.0.0.1", "Address to listen on"),
  PORT: withDefault(Port, 8080, "Port to listen on; 0 takes a free one"),
  DATABASE_URL: optional(DatabaseUrl, "Postgres 15 or newer. Without it the server runs its own in DATA_DIR"),
  DATA_DIR: withDefault(Text, ".tollgate", "Where the embedded Postgres and generated secrets live"),
  CATALOG_FILE: optional(Text, "Catalog file applied at start"),
  DEMO: optional(
    Switch,
    "Simulated supplier, demo catalog and a demo customer; default on in development without DATABASE_URL"
  ),
  SIMULATOR_PORT: withDefault(
    Port,
    4011,
    "Port of the simulated supplier, on loopback only; a second server uses the one that is there"
  ),
  JWT_SECRET: optional(Secret, "Signs reseller tokens; 32 characters or more. Development: generated into DATA_DIR"),
  KEY_PEPPER: optional(
    Secret,
    "Keys the digests of API keys; 32 characters or more. Development: generated into DATA_DIR"
  ),
  SERVICE_NAME: withDefault(Word, "tollgate", "Name in the `x-<name>-billing` header"),
  KEY_PREFIX: withDefault(Word, "tg", "First part of every API key"),
  CORS_ORIGIN: withDefault(Text, "*", "Browser origin allowed to call; `*` for any"),
  RANKINGS_ENABLED: withDefault(
    Switch,
    true,
    "Whether `/api/rankings` and `/rankings` tell how much each model is used"
  ),
  METRICS_PORT: withDefault(Port, 9464, "Prometheus metrics, on loopback only"),
  KEEPALIVE_SECONDS: withDefault(Seconds, 15, "Silence on a stream before a keepalive comment"),
  DRAIN_SECONDS: withDefault(
    kind("a whole number of seconds from 0 to 25", wholeNumber(0, 25)),
    20,
    "How long running requests may finish at shutdown"
  ),
  NODE_DEAD_AFTER_SECONDS: withDefault(Seconds, 30, "Silence after which a node is dead and its holds are settled")
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
      ParseResult.ArrayFormatter.formatErrorSync(error).map(({ path, message }) => `${path.join(".")}: ${message}`)
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
