/**
 * Logs: readable lines on a terminal in development, one JSON object a line in production. Always on stderr, so that
 * stdout carries only what was asked for.
 */
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import type { Config } from "./Config.ts"

export const layer = (config: Config): Layer.Layer<never> =>
  Layer.merge(
    Logger.replace(
      Logger.defaultLogger,
      Logger.withConsoleError(config.production ? Logger.jsonLogger : Logger.logfmtLogger)
    ),
    Logger.minimumLogLevel(LogLevel.Info)
  )
