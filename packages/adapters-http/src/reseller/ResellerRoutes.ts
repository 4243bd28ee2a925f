/**
 * The whole reseller programme, served.
 */
import * as Layer from "effect/Layer"
import * as AccountRoutes from "./AccountRoutes.ts"
import * as BalancesRoutes from "./BalancesRoutes.ts"
import * as CustomersRoutes from "./CustomersRoutes.ts"
import * as MintRoutes from "./MintRoutes.ts"
import * as QrPictureRoutes from "./QrPictureRoutes.ts"
import * as ResellerAuthRoutes from "./ResellerAuthRoutes.ts"
import * as SmallBodies from "./SmallBodies.ts"
import * as TopUpsRoutes from "./TopUpsRoutes.ts"
import * as UsageRoutes from "./UsageRoutes.ts"
import * as WebhooksRoutes from "./WebhooksRoutes.ts"

export const layer = Layer.mergeAll(
  ResellerAuthRoutes.layer,
  AccountRoutes.layer,
  TopUpsRoutes.layer,
  MintRoutes.layer,
  CustomersRoutes.layer,
  BalancesRoutes.layer,
  UsageRoutes.layer,
  QrPictureRoutes.layer,
  WebhooksRoutes.layer
).pipe(Layer.provide(SmallBodies.layer))
