/**
 * The environment variables a command cares about: the same names, defaults and meaning as for the server.
 */
import * as Setting from "@tollgate/application/operations/EnvironmentSchema"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { CommandFailed } from "./CommandFailed.ts"

const Environment = Schema.Struct({
  NODE_ENV: Schema.optionalWith(Setting.Mode, { exact: true, default: () => "development" as const }),
  HOST: Schema.optionalWith(Setting.Text, { exact: true, default: () => "127.0.0.1" }),
  PORT: Schema.optionalWith(Setting.Port, { exact: true, default: () => 8080 }),
  DATABASE_URL: Schema.optionalWith(Schema.String, { exact: true }),
  DATA_DIR: Schema.optionalWith(Setting.Text, { exact: true, default: () => ".tollgate" }),
  KEY_PEPPER: Schema.optionalWith(Setting.Secret, { exact: true }),
  KEY_PREFIX: Schema.optionalWith(Setting.Word, { exact: true, default: () => "tg" }),
  NODE_DEAD_AFTER_SECONDS: Schema.optionalWith(Setting.Seconds, { exact: true, default: () => 30 })
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

export const read = (environment: Setting.Environment): Effect.Effect<SettingsValues, CommandFailed> =>
  Either.mapBoth(Setting.readSettings(Environment)(environment), {
    onLeft: unusable,
    onRight: (values) => ({
      production: values.NODE_ENV === "production",
      databaseUrl: values.DATABASE_URL === undefined ? undefined : Redacted.make(values.DATABASE_URL),
      dataDir: values.DATA_DIR,
      keyPepper: values.KEY_PEPPER,
      keyPrefix: values.KEY_PREFIX,
      nodeDeadAfterSeconds: values.NODE_DEAD_AFTER_SECONDS,
      serverAddress: `http://${isEverywhere(values.HOST) ? "127.0.0.1" : values.HOST}:${values.PORT}`
    })
  })

export const unusable = (reasons: ReadonlyArray<string>): CommandFailed =>
  new CommandFailed({
    exit: "failed",
    code: "invalid_settings",
    message: ["These environment variables cannot be used:", ...reasons.map((reason) => `  ${reason}`)].join("\n")
  })

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
