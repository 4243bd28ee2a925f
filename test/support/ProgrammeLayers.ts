/**
 * Composes the layers of a `TestProgramme` as the server does.
 */

import * as ArgonPasswordHasher from "@tollgate/adapters-http/auth/ArgonPasswordHasher"
import { onlySecret } from "@tollgate/adapters-http/auth/SigningSecrets"
import * as InFlight from "@tollgate/adapters-http/http/InFlight"
import * as GatewayApiLive from "@tollgate/adapters-http/server/GatewayApiLive"
import * as GatewayOptions from "@tollgate/adapters-http/server/GatewayOptions"
import * as GatewayServer from "@tollgate/adapters-http/server/GatewayServer"
import * as PgNotifications from "@tollgate/adapters-postgres/client/PgNotifications"
import * as PgApiKeyAuthenticator from "@tollgate/adapters-postgres/customer/PgApiKeyAuthenticator"
import * as PgFunds from "@tollgate/adapters-postgres/customer/PgFunds"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import * as PgNodes from "@tollgate/adapters-postgres/operations/PgNodes"
import * as PgBalanceWatch from "@tollgate/adapters-postgres/webhook/PgBalanceWatch"
import * as ConfiguredProviders from "@tollgate/adapters-upstream/topup/ConfiguredProviders"
import { OperatorPolicy } from "@tollgate/application/operator/OperatorSessions"
import { PasswordHasher } from "@tollgate/application/reseller/PasswordHasher"
import * as OrderPayments from "@tollgate/application/topup/OrderPayments"
import type { PaymentProvider } from "@tollgate/application/topup/PaymentProviders"
import { inferencePorts, policies, signers, trustedProxies, webhooks } from "@tollgate/composition/GatewayPorts"
import { operatorStores, requestStores, resellerStores } from "@tollgate/composition/GatewayStores"
import type { LinkPolicy } from "@tollgate/domain/customer/Customer"
import { defaultBounds } from "@tollgate/domain/topup/TopUpRequest"
import { paymentSimulation } from "@tollgate/simulators/topup/PaymentSimulator"
import { Effect, Layer, Logger, LogLevel, Redacted } from "effect"
import * as NoRankings from "./NoRankings.ts"
import * as Stores from "./Stores.ts"
import * as TestDatabase from "./TestDatabase.ts"

export const SECRET = "the signing secret of every test programme"
export const ISSUER = "tollgate"

export interface ProgrammeSettings {
  readonly database: TestDatabase.Database
  readonly simulator: string
  /** The URL that receives the webhooks of the payment providers. */
  readonly gatewayUrl: string
  /** The logged errors. A test that expects an error removes it from this list. */
  readonly faults: Array<string>
  readonly hashes: { hashed: number; verified: number }
  /** True if the payment providers omit the URL of the QR image. */
  readonly withoutPictures: boolean
  readonly linkPolicy: LinkPolicy
  readonly publicBaseUrl: string | undefined
  readonly trustedProxies: string
  readonly operatorConsole: boolean
  /** The origins to which webhooks may be sent although they are local. */
  readonly webhookOrigins: ReadonlyArray<string>
}

const hasher = ({ hashes }: ProgrammeSettings) =>
  Layer.scoped(
    PasswordHasher,
    Effect.map(ArgonPasswordHasher.make({ memoryKib: 64, passes: 1 }), ({ hash, verify, ...places }) => ({
      ...places,
      hash: (queue, password) => {
        hashes.hashed += 1
        return hash(queue, password)
      },
      verify: (password, known) => {
        hashes.verified += 1
        return verify(password, known)
      }
    }))
  )

const withoutPicture = (provider: PaymentProvider): PaymentProvider => ({
  ...provider,
  open: (intent) =>
    Effect.map(provider.open(intent), (opened) =>
      opened.instructions._tag === "Qris"
        ? { ...opened, instructions: { ...opened.instructions, qrImageUrl: undefined } }
        : opened
    )
})

const providers = ({ simulator, gatewayUrl, withoutPictures, database }: ProgrammeSettings) => {
  const current = ConfiguredProviders.simulatedProviders(
    { qris: 15, hosted_qris: 60, crypto: 60, crypto_bep20: 60 },
    { simulation: paymentSimulation, simulatorUrl: simulator, deployment: database.url, gatewayUrl }
  )
  return ConfiguredProviders.layer({
    current: withoutPictures ? current.map((made) => Effect.map(made, withoutPicture)) : current
  })
}

const stores = Layer.mergeAll(
  resellerStores,
  operatorStores({ NODE_DEAD_AFTER_SECONDS: 30 }),
  PgOpenHolds.layer(),
  requestStores,
  PgApiKeyAuthenticator.layer(),
  PgFunds.layer,
  PgBalanceWatch.layer
).pipe(Layer.provideMerge(Layer.mergeAll(Stores.stores, PgNotifications.layer(), PgNodes.layer)))

const ports = (settings: ProgrammeSettings) =>
  Layer.mergeAll(
    hasher(settings),
    Layer.provideMerge(
      signers({
        secrets: onlySecret(Redacted.make(SECRET)),
        issuer: ISSUER,
        publicBaseUrl: settings.publicBaseUrl
      }),
      trustedProxies(settings.trustedProxies)
    ),
    policies({ bounds: defaultBounds, link: settings.linkPolicy }),
    Layer.succeed(OperatorPolicy, { enabled: settings.operatorConsole, isProduction: false }),
    NoRankings.layer,
    OrderPayments.layer,
    webhooks(settings.webhookOrigins),
    inferencePorts(() => Redacted.make("sk-provider"))
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(stores, providers(settings))),
    Layer.provideMerge(TestDatabase.clientLayer(settings.database))
  )

const noted = ({ faults }: ProgrammeSettings) =>
  Layer.merge(
    Logger.replace(
      Logger.defaultLogger,
      Logger.map(Logger.jsonLogger, (line) => {
        faults.push(line)
      })
    ),
    Logger.minimumLogLevel(LogLevel.Error)
  )

export const layers = (settings: ProgrammeSettings) =>
  Layer.provideMerge(
    GatewayServer.layer({
      ...GatewayOptions.defaults,
      host: "127.0.0.1",
      port: 0,
      drainSeconds: 1,
      tickMillis: 20
    }).pipe(Layer.provide(GatewayApiLive.layer), Layer.provide(InFlight.layer)),
    ports(settings)
  ).pipe(Layer.provide(noted(settings)))

export type ProgrammePorts = Layer.Layer.Success<ReturnType<typeof layers>>
