/**
 * Provides an adapter for every port of a server, and determines the order in which the adapters stop.
 *
 * Layers close in the reverse of their build order. The listener, which uses these ports, drains first. Then the ledger
 * writes its queue to the database, and the node is deregistered. The database connections close last.
 */
import * as ArgonPasswordHasher from "@tollgate/adapters-http/auth/ArgonPasswordHasher"
import * as HmacCursorSealer from "@tollgate/adapters-http/auth/HmacCursorSealer"
import * as JoseTokenSigner from "@tollgate/adapters-http/auth/JoseTokenSigner"
import type { SigningSecrets } from "@tollgate/adapters-http/auth/SigningSecrets"
import * as TrustedProxies from "@tollgate/adapters-http/http/TrustedProxies"
import * as RelayMetrics from "@tollgate/adapters-http/inference/relay/RelayMetrics"
import * as QrLinks from "@tollgate/adapters-http/topup/QrLinks"
import * as PgNodes from "@tollgate/adapters-postgres/operations/PgNodes"
import * as GptTokenCounter from "@tollgate/adapters-upstream/inference/GptTokenCounter"
import * as UndiciUpstreams from "@tollgate/adapters-upstream/inference/UndiciUpstreams"
import * as AllowedTargets from "@tollgate/adapters-upstream/webhook/AllowedTargets"
import * as UndiciWebhookSender from "@tollgate/adapters-upstream/webhook/UndiciWebhookSender"
import { CustomerPolicy } from "@tollgate/application/customer/Customers"
import * as OpenRequests from "@tollgate/application/inference/OpenRequests"
import type { Database } from "@tollgate/application/operations/Database"
import { OperatorPolicy } from "@tollgate/application/operator/OperatorSessions"
import * as OrderPayments from "@tollgate/application/topup/OrderPayments"
import { TopUpPolicy } from "@tollgate/application/topup/TopUps"
import * as WebhookDispatcher from "@tollgate/application/webhook/WebhookDispatcher"
import type { LinkPolicy } from "@tollgate/domain/customer/Customer"
import type { TopUpBounds } from "@tollgate/domain/topup/TopUpRequest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { servesOperators } from "./DeploymentVariables.ts"
import { database, gatewayStores, preparationStores } from "./GatewayStores.ts"
import type { PaymentsLayer } from "./Payments.ts"
import type { PostgresLayer } from "./Postgres.ts"
import { secretOf, signingSecrets } from "./Secrets.ts"
import type { ServerConfig } from "./ServerConfig.ts"
import { StartFailed } from "./StartFailed.ts"

/** The parts that the caller provides, because they differ between production and development. */
export interface GatewayParts {
  readonly postgres: PostgresLayer
  readonly payments: PaymentsLayer<Database>
  readonly providerKeys: UndiciUpstreams.ProviderKeys
}

/** Builds every port of a server. */
export const gatewayPorts = (config: ServerConfig, { payments, postgres, providerKeys }: GatewayParts) =>
  Layer.mergeAll(
    inferencePorts(providerKeys),
    ArgonPasswordHasher.layer(),
    Layer.provideMerge(signing(config), trustedProxies(config.TRUSTED_PROXIES)),
    policies({ bounds: config.topUpBounds, link: config.CUSTOMER_LINK_POLICY }),
    Layer.succeed(OperatorPolicy, {
      enabled: servesOperators(config),
      isProduction: config.NODE_ENV === "production"
    }),
    OrderPayments.layer,
    webhooks(config.WEBHOOK_PRIVATE_ORIGINS)
  ).pipe(Layer.provideMerge(payments), Layer.provideMerge(gatewayStores(config, postgres)))

/**
 * Builds the ports that the primary process needs while its workers serve: the database, the payment providers, the
 * deregistration of workers that have ended, and the token counter of the simulated provider.
 */
export const primaryPorts = (config: ServerConfig, { payments, postgres }: Omit<GatewayParts, "providerKeys">) =>
  Layer.mergeAll(payments, PgNodes.endedNodesLayer, GptTokenCounter.layer).pipe(
    Layer.provideMerge(database(config, postgres))
  )

/** Builds the ports that the primary process needs before it starts its workers. */
export const preparationPorts = (config: ServerConfig) =>
  Layer.merge(preparationStores(config), ArgonPasswordHasher.layer())

/** Builds those ports of inference requests whose adapters need no database. */
export const inferencePorts = (keys: UndiciUpstreams.ProviderKeys) =>
  Layer.mergeAll(UndiciUpstreams.layer({ keys }), GptTokenCounter.layer, OpenRequests.layer, RelayMetrics.layer)

/** Builds the parts that check the URLs of endpoints and deliver webhooks to them. */
export const webhooks = (origins: ReadonlyArray<string> = []) => {
  const privateOrigins = new Set(origins)
  const sender = UndiciWebhookSender.layer({ privateOrigins })
  return Layer.merge(AllowedTargets.layer(privateOrigins), Layer.provide(WebhookDispatcher.layer, sender))
}

const signing = (config: ServerConfig) =>
  Layer.unwrapEffect(
    secretOf("JWT_SECRET", config.JWT_SECRET, config.DATA_DIR).pipe(
      Effect.mapError(({ message }) => new StartFailed({ message })),
      Effect.map((secret) =>
        signers({
          secrets: signingSecrets(secret, config.JWT_SECRET_PREVIOUS),
          issuer: config.SERVICE_NAME,
          publicBaseUrl: config.PUBLIC_BASE_URL
        })
      )
    )
  )

export interface SignerSettings {
  readonly secrets: SigningSecrets
  /** The issuer claim of reseller tokens. */
  readonly issuer: string
  /** The base URL of links to QR images. */
  readonly publicBaseUrl: string | undefined
}

/**
 * Builds the signers of reseller tokens, cursors and QR links. All signers use the same secrets.
 */
export const signers = ({ issuer, publicBaseUrl, secrets }: SignerSettings) =>
  Layer.mergeAll(
    JoseTokenSigner.layer({ ...secrets, issuer }),
    HmacCursorSealer.layer(secrets),
    QrLinks.layer({ ...secrets, publicBaseUrl })
  )

export const trustedProxies = (networks = "") =>
  TrustedProxies.layer(Either.getOrElse(TrustedProxies.parse(networks), () => TrustedProxies.none))

export const policies = ({ bounds, link }: { readonly bounds: TopUpBounds; readonly link: LinkPolicy }) =>
  Layer.merge(Layer.succeed(TopUpPolicy, { bounds }), Layer.succeed(CustomerPolicy, { link }))
