/**
 * Which adapter stands behind which port, and in which order they stop.
 *
 * Layers close in the reverse of the order they are built in: the server drains first, then the ledger writes what is
 * left, then the node says goodbye, and the database goes last.
 */
import * as ArgonPasswordHasher from "@tollgate/adapters-http/auth/ArgonPasswordHasher"
import * as HmacCursorSealer from "@tollgate/adapters-http/auth/HmacCursorSealer"
import * as JoseTokenSigner from "@tollgate/adapters-http/auth/JoseTokenSigner"
import * as TrustedProxies from "@tollgate/adapters-http/auth/TrustedProxies"
import * as InFlight from "@tollgate/adapters-http/http/InFlight"
import * as ImageSettings from "@tollgate/adapters-http/images/ImageSettings"
import { chatProtocol } from "@tollgate/adapters-http/inference/chat/ChatProtocol"
import { countTokensRoute } from "@tollgate/adapters-http/inference/messages/CountTokens"
import { messagesProtocol } from "@tollgate/adapters-http/inference/messages/MessagesProtocol"
import { relayRoute } from "@tollgate/adapters-http/inference/relay/Relay"
import * as RelayMetrics from "@tollgate/adapters-http/inference/relay/RelayMetrics"
import { responsesProtocol } from "@tollgate/adapters-http/inference/responses/ResponsesProtocol"
import { ServiceTitle } from "@tollgate/adapters-http/rankings/RankingsPage"
import * as GatewayApiLive from "@tollgate/adapters-http/server/GatewayApiLive"
import * as GatewayOptions from "@tollgate/adapters-http/server/GatewayOptions"
import * as GatewayServer from "@tollgate/adapters-http/server/GatewayServer"
import * as QrLinks from "@tollgate/adapters-http/topup/QrLinks"
import * as GptTokenCounter from "@tollgate/adapters-upstream/inference/GptTokenCounter"
import * as UndiciUpstreams from "@tollgate/adapters-upstream/inference/UndiciUpstreams"
import { imageLeaseReaper } from "@tollgate/application/background/ImageLeaseReaper"
import { nodeHeartbeat } from "@tollgate/application/background/NodeHeartbeat"
import { usageFold } from "@tollgate/application/background/UsageFold"
import { CustomerPolicy } from "@tollgate/application/customer/CustomerPolicy"
import * as OpenRequests from "@tollgate/application/inference/OpenRequests"
import * as PaymentRefresher from "@tollgate/application/topup/PaymentRefresher"
import { TopUpPolicy } from "@tollgate/application/topup/TopUps"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type { Config } from "./Config.ts"
import * as Metrics from "./Metrics.ts"
import * as Payments from "./Payments.ts"
import { secretOf } from "./Secrets.ts"
import { signingSecrets } from "./Signing.ts"
import { rootOf, StartFailed } from "./StartFailed.ts"
import { stores } from "./Stores.ts"

/** Tokens, cursors and QR links, all signed with the same secrets. */
const signing = (config: Config) =>
  Layer.unwrapEffect(
    Effect.map(secretOf(config, "JWT_SECRET", "jwt-secret"), (secret) => {
      const secrets = signingSecrets(secret, config.JWT_SECRET_PREVIOUS)
      return Layer.mergeAll(
        JoseTokenSigner.layer({ ...secrets, issuer: config.SERVICE_NAME }),
        HmacCursorSealer.layer(secrets),
        QrLinks.layer({ ...secrets, publicBaseUrl: config.PUBLIC_BASE_URL })
      )
    })
  )

const trustedProxies = ({ TRUSTED_PROXIES = "" }: Config) =>
  TrustedProxies.layer(Either.getOrElse(TrustedProxies.parse(TRUSTED_PROXIES), () => TrustedProxies.none))

const policies = (config: Config) =>
  Layer.mergeAll(
    Layer.succeed(TopUpPolicy, { bounds: config.topUpBounds }),
    Layer.succeed(CustomerPolicy, { link: config.CUSTOMER_LINK_POLICY })
  )

/** Every port of the application. */
export const ports = (config: Config, keys: UndiciUpstreams.ProviderKeys) =>
  Layer.mergeAll(
    UndiciUpstreams.layer({ keys }),
    GptTokenCounter.layer,
    OpenRequests.layer,
    RelayMetrics.layer,
    ArgonPasswordHasher.layer(),
    Layer.provideMerge(signing(config), trustedProxies(config)),
    policies(config),
    PaymentRefresher.layer
  ).pipe(Layer.provideMerge(Payments.providers(config)), Layer.provideMerge(stores(config)))

/** The inference protocols this server relays. A new one is one line. */
const relayed = [
  relayRoute("/v1/chat/completions", chatProtocol),
  relayRoute("/v1/messages", messagesProtocol),
  relayRoute("/v1/responses", responsesProtocol),
  countTokensRoute()
]

/** Outlives the server above it: a node that takes its time to drain must not be taken for dead. */
const keeper = ({ NODE_DEAD_AFTER_SECONDS }: Config) =>
  Layer.mergeAll(
    Layer.scopedDiscard(Effect.forkScoped(nodeHeartbeat(Duration.seconds(NODE_DEAD_AFTER_SECONDS)))),
    Layer.scopedDiscard(Effect.forkScoped(imageLeaseReaper())),
    Payments.keeper
  )

/** Also where no rankings are published: what is not folded piles up. */
const folder = Layer.scopedDiscard(Effect.forkScoped(usageFold()))

/** What is named after the service. */
const named = ({ SERVICE_NAME }: Config) =>
  Layer.merge(
    Layer.succeed(ServiceTitle, SERVICE_NAME),
    Layer.succeed(ImageSettings.ImageSettings, { ...ImageSettings.defaults, serviceName: SERVICE_NAME })
  )

/** The public port, the metrics port, and the duties of a node. */
export const server = (config: Config) =>
  Layer.mergeAll(
    GatewayServer.layer(
      {
        ...GatewayOptions.defaults,
        host: config.HOST,
        port: config.PORT,
        serviceName: config.SERVICE_NAME,
        corsAllowOrigin: config.CORS_ORIGIN,
        keepaliveSeconds: config.KEEPALIVE_SECONDS,
        drainSeconds: config.DRAIN_SECONDS
      },
      relayed
    ).pipe(
      Layer.mapError(
        (error) =>
          new StartFailed({
            message: `${config.HOST}:${config.PORT} cannot be listened on (${rootOf(error)}); set HOST or PORT`
          })
      ),
      Layer.provide(GatewayApiLive.layer.pipe(Layer.provide(named(config)))),
      Layer.provide(InFlight.layer)
    ),
    Metrics.layer(config.METRICS_PORT)
  ).pipe(Layer.provide(Layer.merge(keeper(config), folder)))
