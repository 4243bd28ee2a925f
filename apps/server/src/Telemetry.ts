/**
 * Logs, a line each, on stderr: `key=value` pairs to read in development, JSON objects in production.
 *
 * An entry is a sentence and its facts: `Effect.logWarning("upstream request failed", { request_id, provider })`. Secrets are
 * `Redacted` and print as such.
 */
import type { ServerConfig } from "@tollgate/composition/ServerConfig"
import * as Cause from "effect/Cause"
import * as HashMap from "effect/HashMap"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"

type Facts = Readonly<Record<string, unknown>>

export const layer = (config: ServerConfig): Layer.Layer<never> =>
  Layer.merge(
    Logger.replace(Logger.defaultLogger, Logger.withConsoleError(config.production ? asJson : asPairs)),
    Logger.minimumLogLevel(LogLevel.Info)
  )

const factsOf = Logger.make<unknown, Facts>(({ date, logLevel, message, cause, annotations }) => {
  const parts: ReadonlyArray<unknown> = Array.isArray(message) ? message : [message]
  const facts = parts.filter((part) => typeof part === "object" && part !== null && !Cause.isCause(part))
  const causes = [cause, ...parts].filter(Cause.isCause).filter((each) => !Cause.isEmpty(each))
  return Object.assign(
    {
      at: date.toISOString(),
      level: logLevel.label,
      message: parts.filter((part) => typeof part !== "object").join(" ")
    },
    ...facts,
    Object.fromEntries(HashMap.toEntries(annotations)),
    causes.length === 0
      ? {}
      : { cause: causes.map((each) => Cause.pretty(each, { renderErrorCause: true })).join("\n") }
  )
})

const asJson = Logger.map(factsOf, (facts) => Inspectable.stringifyCircular(facts))

const asPairs = Logger.map(factsOf, ({ at, level, message, ...facts }) =>
  [`${at} ${level} ${message}`, ...Object.entries(facts).map(([name, value]) => `${name}=${asWord(value)}`)].join(" ")
)

const asWord = (value: unknown): string => {
  const text = typeof value === "string" ? value : Inspectable.stringifyCircular(value)
  return /[\s"=]/.test(text) ? Inspectable.stringifyCircular(text) : text
}
