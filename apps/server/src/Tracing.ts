/**
 * Sends the traces of sampled requests to an OpenTelemetry collector. Without OTEL_EXPORTER_OTLP_ENDPOINT, the
 * exporter is not loaded, and no request is traced.
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import { RequestTraces, Traces } from "@tollgate/application/inference/RequestTrace"
import type { ServerConfig } from "@tollgate/composition/ServerConfig"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

const EXPORT_TIMEOUT = "10 seconds"

export const layer = (config: ServerConfig): Layer.Layer<never> => {
  const endpoint = config.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined) return Layer.empty
  return Layer.unwrapEffect(
    Effect.promise(async () => {
      const [OtlpTracer, OtlpSerialization] = await Promise.all([
        import("@effect/opentelemetry/OtlpTracer"),
        import("@effect/opentelemetry/OtlpSerialization")
      ])
      const traces = Effect.gen(function* () {
        const clock = yield* Effect.clock
        const tracer = yield* OtlpTracer.make({
          url: `${endpoint}/v1/traces`,
          resource: { serviceName: config.OTEL_SERVICE_NAME },
          headers: headersOf(config.OTEL_EXPORTER_OTLP_HEADERS)
        })
        return new Traces(tracer, config.OTEL_TRACES_SAMPLER_ARG, () => clock.unsafeCurrentTimeNanos())
      })
      return Layer.scoped(RequestTraces, traces).pipe(Layer.provide(OtlpSerialization.layerJson), Layer.provide(client))
    })
  ).pipe(Layer.orDie) as Layer.Layer<never>
}

/** Adds a timeout to the HTTP client of the exporter, because the exporter has none. */
const client = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(
    HttpClient.HttpClient,
    HttpClient.transformResponse((response) =>
      Effect.timeoutFailCause(response, {
        duration: EXPORT_TIMEOUT,
        onTimeout: () => Cause.die("the collector did not respond in time")
      })
    )
  )
).pipe(Layer.provide(FetchHttpClient.layer))

const headersOf = (headers: ServerConfig["OTEL_EXPORTER_OTLP_HEADERS"]): Record<string, string> =>
  headers === undefined
    ? {}
    : Object.fromEntries(
        Redacted.value(headers)
          .split(",")
          .map((pair) => {
            const at = pair.indexOf("=")
            return [pair.slice(0, at).trim(), unescaped(pair.slice(at + 1).trim())]
          })
      )

/**
 * Decodes the percent-encoded characters of a header value. The specification of OpenTelemetry requires them, for
 * example for the space in `Basic%20YTpi`. A value with another `%` is not changed.
 */
const unescaped = (value: string): string => {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
