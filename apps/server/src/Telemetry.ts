/**
 * Writes the log to stderr, one entry per line, in the format that LOG_FORMAT names.
 *
 * A log entry is a message and fields: `Effect.logWarning("upstream request failed", { request_id, provider })`.
 * Secrets are values of the type `Redacted`, which are logged as `<redacted>`.
 */
import { isSampled, traceIdOf } from "@tollgate/application/inference/RequestTrace"
import { replaceUnsafe } from "@tollgate/application/operations/UnsafeCharacters"
import type { ServerConfig } from "@tollgate/composition/ServerConfig"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Cause from "effect/Cause"
import * as HashMap from "effect/HashMap"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"

type Fields = Readonly<Record<string, unknown>>

type TraceSettings = Partial<Pick<ServerConfig, "OTEL_EXPORTER_OTLP_ENDPOINT" | "OTEL_TRACES_SAMPLER_ARG">>
type LogSettings = Pick<ServerConfig, "LOG_FORMAT" | "LOG_LEVEL" | "production"> & TraceSettings

/** Writes the log of this process. Every entry contains `commonFields`. */
export const layer = (
  { LOG_FORMAT, LOG_LEVEL, production, ...traces }: LogSettings,
  commonFields: Fields = {}
): Layer.Layer<never> =>
  Layer.merge(
    Logger.replace(
      Logger.defaultLogger,
      Logger.withConsoleError(
        formats[LOG_FORMAT ?? (production ? "json" : "pretty")](entriesWith(commonFields, traces))
      )
    ),
    Logger.minimumLogLevel(levels[LOG_LEVEL])
  )

const levels: Readonly<Record<ServerConfig["LOG_LEVEL"], LogLevel.LogLevel>> = {
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error,
  fatal: LogLevel.Fatal,
  none: LogLevel.None
}

const fieldsOf = Logger.make<unknown, Fields>(({ date, logLevel, message, cause, annotations }) => {
  const parts: ReadonlyArray<unknown> = Array.isArray(message) ? message : [message]
  const fields = parts.filter((part) => typeof part === "object" && part !== null && !Cause.isCause(part))
  const causes = [cause, ...parts].filter(Cause.isCause).filter((each) => !Cause.isEmpty(each))
  return Object.assign(
    {
      at: date.toISOString(),
      level: logLevel.label,
      message: parts.filter((part) => typeof part !== "object").join(" ")
    },
    ...fields,
    Object.fromEntries(HashMap.toEntries(annotations)),
    causes.length === 0
      ? {}
      : { cause: causes.map((each) => Cause.pretty(each, { renderErrorCause: true })).join("\n") }
  )
})

/**
 * Adds the common fields. Adds the trace id to an entry about a sampled request, even if the exporter dropped its
 * trace.
 */
const entriesWith = (
  commonFields: Fields,
  { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER_ARG = 0 }: TraceSettings
): Logger.Logger<unknown, Fields> =>
  Logger.map(fieldsOf, (fields) => {
    const id = fields.request_id
    const isTraced =
      OTEL_EXPORTER_OTLP_ENDPOINT !== undefined && typeof id === "string" && isSampled(id, OTEL_TRACES_SAMPLER_ARG)
    return { ...fields, ...(isTraced ? { trace_id: traceIdOf(RequestId(id)) } : {}), ...commonFields }
  })

const asJson = (entries: Logger.Logger<unknown, Fields>) =>
  Logger.map(entries, (fields) => printable(Inspectable.stringifyCircular(fields)))

const asPretty = (entries: Logger.Logger<unknown, Fields>) =>
  Logger.map(entries, ({ at, level, message, ...fields }) =>
    printable([`${at} ${level} ${message}`, ...pairsOf(fields)].join(" "))
  )

const asLogfmt = (entries: Logger.Logger<unknown, Fields>) =>
  Logger.map(entries, (fields) => printable(pairsOf(fields).join(" ")))

const formats = { json: asJson, logfmt: asLogfmt, pretty: asPretty }

const pairsOf = (fields: Fields): ReadonlyArray<string> =>
  Object.entries(fields).map(([name, value]) => `${name}=${asWord(value)}`)

const asWord = (value: unknown): string => {
  const text = typeof value === "string" ? value : Inspectable.stringifyCircular(value)
  return /[\s"=]/.test(text) ? Inspectable.stringifyCircular(text) : text
}

/**
 * Escapes unsafe characters as in JSON. A field can contain text of a provider or a client, which must not add a line
 * to the log or control the terminal that shows the log.
 */
const printable = (line: string): string =>
  replaceUnsafe(line, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
