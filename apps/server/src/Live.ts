/**
 * Builds the server from the ports of the application.
 */
import { ConsoleFolder } from "@tollgate/adapters-http/console/ConsoleFiles"
import * as InFlight from "@tollgate/adapters-http/http/InFlight"
import { ServiceTitle } from "@tollgate/adapters-http/http/ServiceTitle"
import { defaultSettings, ImageSettings } from "@tollgate/adapters-http/images/ImagesRoutes"
import { PublicPrices } from "@tollgate/adapters-http/pages/StartPage"
import * as GatewayApiLive from "@tollgate/adapters-http/server/GatewayApiLive"
import * as GatewayOptions from "@tollgate/adapters-http/server/GatewayOptions"
import * as GatewayServer from "@tollgate/adapters-http/server/GatewayServer"
import { startBackgroundTasks } from "@tollgate/application/background/BackgroundTasks"
import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import { drainDelaySeconds } from "@tollgate/composition/DeploymentVariables"
import type { ServerConfig } from "@tollgate/composition/ServerConfig"
import { rootMessageOf, StartFailed } from "@tollgate/composition/StartFailed"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { consoleFolder } from "./ConsoleBuild.ts"
import * as MetricsServer from "./metrics/MetricsServer.ts"
import { nodeMetrics } from "./metrics/NodeMetrics.ts"

/**
 * Runs the background tasks. They stop after the public listener has drained, because a node that still serves requests
 * must keep sending its heartbeat.
 */
const backgroundTasks = ({ NODE_DEAD_AFTER_SECONDS }: ServerConfig) =>
  Layer.scopedDiscard(startBackgroundTasks(Duration.seconds(NODE_DEAD_AFTER_SECONDS)))

/**
 * In production, loads the vocabulary of the token counter before the server listens. The load blocks the event loop
 * for up to a second. Otherwise it would happen at the first request whose tokens are counted.
 */
const loadedVocabulary = ({ NODE_ENV }: ServerConfig) =>
  Layer.effectDiscard(NODE_ENV === "production" ? Effect.flatMap(TokenCounter, ({ count }) => count("a")) : Effect.void)

/** Provides the built console, the service name, the image settings, and whether the start page shows prices. */
const pageSettings = ({ SERVICE_NAME, PUBLIC_PRICES, demo }: ServerConfig) =>
  Layer.mergeAll(
    Layer.sync(ConsoleFolder, consoleFolder),
    Layer.succeed(PublicPrices, PUBLIC_PRICES ?? demo),
    Layer.succeed(ServiceTitle, SERVICE_NAME),
    Layer.succeed(ImageSettings, { ...defaultSettings, serviceName: SERVICE_NAME })
  )

const listener = (config: ServerConfig) =>
  GatewayServer.layer({
    ...GatewayOptions.defaults,
    host: config.HOST,
    port: config.PORT,
    corsAllowOrigin: config.CORS_ORIGIN,
    keepaliveSeconds: config.KEEPALIVE_SECONDS,
    drainSeconds: config.DRAIN_SECONDS,
    drainDelaySeconds: drainDelaySeconds(config)
  }).pipe(
    Layer.mapError(
      (error) =>
        new StartFailed({
          message: `cannot listen on ${config.HOST}:${config.PORT} (${rootMessageOf(error)}); set HOST or PORT`
        })
    ),
    Layer.provide(GatewayApiLive.layer.pipe(Layer.provide(pageSettings(config)))),
    Layer.provide(InFlight.layer)
  )

/** Serves the metrics of this process on their own port. */
const metricsServer = (config: ServerConfig) =>
  Layer.scopedDiscard(Effect.flatMap(nodeMetrics, (registry) => MetricsServer.serve(registry, config)))

/** A layer that publishes the metrics of this process. */
type MetricsLayer = Layer.Layer<never, never, Effect.Effect.Context<typeof nodeMetrics>>

/** Builds the server: the public listener, the metrics listener and the background tasks. */
export const server = (config: ServerConfig, metrics: MetricsLayer = metricsServer(config)) =>
  Layer.merge(listener(config), metrics).pipe(
    Layer.provide(backgroundTasks(config)),
    Layer.provide(loadedVocabulary(config))
  )
