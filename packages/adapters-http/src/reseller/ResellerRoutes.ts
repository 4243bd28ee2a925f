/**
 * The whole reseller programme, served.
 */
import * as Layer from "effect/Layer"
import * as BalancesRoutes from "../customer/BalancesRoutes.ts"
import * as CustomersRoutes from "../customer/CustomersRoutes.ts"
import * as UsageRoutes from "../customer/UsageRoutes.ts"
import * as MintRoutes from "../mint/MintRoutes.ts"
import * as QrPictureRoutes from "../topup/QrPictureRoutes.ts"
import * as TopUpsRoutes from "../topup/TopUpsRoutes.ts"
import * as WebhooksRoutes from "../topup/WebhooksRoutes.ts"
import * as AccountRoutes from "./AccountRoutes.ts"
import * as ResellerAuthRoutes from "./ResellerAuthRoutes.ts"
import * as SmallBodies from "./SmallBodies.ts"

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
