/**
 * The environment variables a command cares about: the same names, defaults and meaning as for the server.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { CommandFailed } from "./CommandFailed.ts"

const wholeNumber = (from: number, to: number) =>
  Schema.String.pipe(
    Schema.filter((text) => /^\d{1,9}$/.test(text) || `a whole number from ${from} to ${to}`),
    Schema.compose(Schema.NumberFromString),
    Schema.filter((number) => (number >= from && number <= to) || `a whole number from ${from} to ${to}`)
  )

const Mode = Schema.String.pipe(
  Schema.filter((text) => /^(development|production|test)$/.test(text) || "development, production or test")
)
const Prefix = Schema.String.pipe(
  Schema.filter((text) => /^[a-z][a-z0-9]{0,31}$/.test(text) || "small letters and digits, a letter first")
)
const Secret = Schema.String.pipe(Schema.filter((text) => text.length >= 32 || "32 characters or more are needed"))

const Environment = Schema.Struct({
  NODE_ENV: Schema.optionalWith(Mode, { exact: true, default: () => "development" }),
  HOST: Schema.optionalWith(Schema.String, { exact: true, default: () => "127.0.0.1" }),
  PORT: Schema.optionalWith(wholeNumber(0, 65_535), { exact: true, default: () => 8080 }),
  DATABASE_URL: Schema.optionalWith(Schema.String, { exact: true }),
  DATA_DIR: Schema.optionalWith(Schema.String, { exact: true, default: () => ".tollgate" }),
  KEY_PEPPER: Schema.optionalWith(Secret, { exact: true }),
  KEY_PREFIX: Schema.optionalWith(Prefix, { exact: true, default: () => "tg" }),
  NODE_DEAD_AFTER_SECONDS: Schema.optionalWith(wholeNumber(1, 3_600), { exact: true, default: () => 30 })
})

export interface SettingsValues {
  readonly production: boolean
  readonly databaseUrl: Redacted.Redacted<string> | undefined
  readonly dataDir: string
  readonly keyPepper: Redacted.Redacted<string> | undefined
  readonly keyPrefix: string
  readonly nodeDeadAfterSeconds: number
  /** Where a server with these settings answers. */
  readonly serverAddress: string
}

export class Settings extends Context.Tag("@tollgate/cli/Settings")<Settings, SettingsValues>() {}

export const read = (environment: NodeJS.ProcessEnv): Effect.Effect<SettingsValues, CommandFailed> => {
  // An empty variable is one that was not set.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""))
  return Schema.decodeUnknown(Environment, { errors: "all" })(given).pipe(
    Effect.mapError((error) => {
      const issues = ParseResult.ArrayFormatter.formatErrorSync(error)
      const lines = issues.map(({ message, path }) => `  ${path.join(".")}: ${message}`)
      return new CommandFailed({
        exit: "failed",
        code: "invalid_settings",
        message: ["These environment variables cannot be used:", ...lines].join("\n")
      })
    }),
    Effect.map((values) => ({
      production: values.NODE_ENV === "production",
      databaseUrl: values.DATABASE_URL === undefined ? undefined : Redacted.make(values.DATABASE_URL),
      dataDir: values.DATA_DIR,
      keyPepper: values.KEY_PEPPER === undefined ? undefined : Redacted.make(values.KEY_PEPPER),
      keyPrefix: values.KEY_PREFIX,
      nodeDeadAfterSeconds: values.NODE_DEAD_AFTER_SECONDS,
      serverAddress: `http://${isEverywhere(values.HOST) ? "127.0.0.1" : values.HOST}:${values.PORT}`
    }))
  )
}

/** Where keys are made, production must have the pepper that its servers verify them with. */
export const requireKeyPepper = Effect.flatMap(Settings, ({ keyPepper, production }) =>
  production && keyPepper === undefined
    ? new CommandFailed({
        exit: "failed",
        code: "invalid_settings",
        message: "KEY_PEPPER is not set here. In production a key can only be made with the pepper its servers have."
      })
    : Effect.void
)

export const layer = Layer.effect(
  Settings,
  Effect.suspend(() => read(process.env))
)

const isEverywhere = (host: string): boolean => host === "0.0.0.0" || host === "::"
