/**
 * Reads the environment variables that commands use. Each variable has the same name, default and meaning as for the
 * server.
 */
import { type OperatorSettings, readOperatorSettings } from "@tollgate/composition/OperatorPorts"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { CommandFailed } from "../exit/CommandFailed.ts"

export type SettingsValues = OperatorSettings

export class Settings extends Context.Tag("@tollgate/cli/Settings")<Settings, SettingsValues>() {}

export const unusable = (reasons: ReadonlyArray<string>): CommandFailed =>
  new CommandFailed({
    exit: "failed",
    code: "invalid_settings",
    message: ["These environment variables have unusable values:", ...reasons.map((reason) => `  ${reason}`)].join("\n")
  })

export const layer = Layer.effect(
  Settings,
  Effect.suspend(() => Either.mapLeft(readOperatorSettings(process.env), unusable))
)

/**
 * Fails in production if KEY_PEPPER is not set: a key or an endpoint works only if it is created with the pepper that
 * the servers use.
 */
export const requireKeyPepper = Effect.flatMap(Settings, ({ KEY_PEPPER, NODE_ENV }) =>
  NODE_ENV === "production" && KEY_PEPPER === undefined
    ? new CommandFailed({
        exit: "failed",
        code: "invalid_settings",
        message: "KEY_PEPPER is not set. In production, this command requires the KEY_PEPPER that the servers use."
      })
    : Effect.void
)
