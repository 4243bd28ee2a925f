/**
 * The ports of the reseller programme for a gateway that is not asked about it: whoever asks gets a defect.
 */
import { TrustedProxies } from "@tollgate/adapters-http/auth/TrustedProxies"
import { PublicAddress } from "@tollgate/adapters-http/reseller/PublicAddress"
import { QrLinks } from "@tollgate/adapters-http/reseller/QrLinks"
import { CustomerPolicy } from "@tollgate/application/customer/CustomerPolicy"
import { Balances } from "@tollgate/application/ports/Balances"
import { Blacklist } from "@tollgate/application/ports/Blacklist"
import { CursorSealer } from "@tollgate/application/ports/CursorSealer"
import { CustomerKeys } from "@tollgate/application/ports/CustomerKeys"
import { Customers } from "@tollgate/application/ports/Customers"
import { LoginAttempts } from "@tollgate/application/ports/LoginAttempts"
import { Mints } from "@tollgate/application/ports/Mints"
import { PasswordHasher } from "@tollgate/application/ports/PasswordHasher"
import { PaymentProviders } from "@tollgate/application/ports/PaymentProviders"
import { Quota } from "@tollgate/application/ports/Quota"
import { Resellers } from "@tollgate/application/ports/Resellers"
import { SettledUsage } from "@tollgate/application/ports/SettledUsage"
import { Tiers } from "@tollgate/application/ports/Tiers"
import { TokenSigner } from "@tollgate/application/ports/TokenSigner"
import { TopUpOrders } from "@tollgate/application/ports/TopUpOrders"
import { PaymentDesk } from "@tollgate/application/topup/PaymentDesk"
import { TopUpPolicy } from "@tollgate/application/topup/TopUpPolicy"
import { type Context, Effect, Layer } from "effect"

const absent = <Id, Service extends object>(tag: Context.Tag<Id, Service>): Layer.Layer<Id> =>
  Layer.succeed(
    tag,
    new Proxy({} as Service, { get: (_, member) => () => Effect.dieMessage(`${tag.key}.${String(member)} was asked`) })
  )

export const layer = Layer.mergeAll(
  absent(Resellers),
  absent(Blacklist),
  absent(LoginAttempts),
  absent(PasswordHasher),
  absent(TokenSigner),
  absent(TopUpOrders),
  absent(PaymentProviders),
  absent(PaymentDesk),
  absent(TopUpPolicy),
  absent(Quota),
  absent(Tiers),
  absent(Mints),
  absent(Customers),
  absent(CustomerPolicy),
  absent(CustomerKeys),
  absent(Balances),
  absent(SettledUsage),
  absent(CursorSealer),
  absent(TrustedProxies),
  absent(PublicAddress),
  absent(QrLinks)
)
