/**
 * Provides the ports of resellers, customers and operators for a gateway whose test uses none of them. A call of a
 * method, except `PasswordHasher.refusalFor`, ends with a defect.
 */
import { TrustedProxies } from "@tollgate/adapters-http/http/TrustedProxies"
import { QrLinks } from "@tollgate/adapters-http/topup/QrLinks"
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { ApiKeys, CustomerKeys } from "@tollgate/application/customer/ApiKeys"
import { Balances } from "@tollgate/application/customer/Balances"
import { CustomerPolicy, Customers } from "@tollgate/application/customer/Customers"
import { KeyLimitStore } from "@tollgate/application/customer/KeyLimits"
import { KeyLists } from "@tollgate/application/customer/KeyLists"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { SettledUsage } from "@tollgate/application/customer/SettledUsage"
import { Users } from "@tollgate/application/customer/Users"
import { ImageReviews } from "@tollgate/application/images/ImageReviews"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { MintHistory } from "@tollgate/application/mint/MintHistory"
import { Mints, Tiers } from "@tollgate/application/mint/Mints"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import { NodeList, Nodes } from "@tollgate/application/operations/Nodes"
import { AuditLogEntries } from "@tollgate/application/operator/AuditLogEntries"
import { AuditRuns } from "@tollgate/application/operator/AuditRuns"
import { OperatorPolicy, OperatorSessions } from "@tollgate/application/operator/OperatorSessions"
import { Blacklist } from "@tollgate/application/reseller/Blacklist"
import { PasswordHasher } from "@tollgate/application/reseller/PasswordHasher"
import { Quota } from "@tollgate/application/reseller/Quota"
import { QuotaMovements } from "@tollgate/application/reseller/QuotaMovements"
import { Attempts, TokenSigner } from "@tollgate/application/reseller/ResellerAccess"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { OrderPayments } from "@tollgate/application/topup/OrderPayments"
import { PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import { TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import { TopUpPolicy } from "@tollgate/application/topup/TopUps"
import { WebhookDeliveries } from "@tollgate/application/webhook/WebhookDeliveries"
import { WebhookEndpoints, WebhookTargets } from "@tollgate/application/webhook/WebhookEndpoints"
import { Context, Effect, Layer } from "effect"

/** Returns a context with a service that has these members. A call of any other member ends with a defect. */
const absent = <Id, Service extends object>(
  tag: Context.Tag<Id, Service>,
  members: Partial<Service> = {}
): Context.Context<Id> =>
  Context.make(
    tag,
    new Proxy(members as Service, {
      get: (_, name) =>
        members[name as keyof Service] ?? (() => Effect.dieMessage(`${tag.key}.${String(name)} was called`))
    })
  )

// One layer for all services is built much faster than one layer for each.
export const layer = Layer.succeedContext(
  Context.mergeAll(
    absent(Resellers),
    absent(Blacklist),
    absent(Attempts),
    absent(PasswordHasher, { refusalFor: () => undefined }),
    absent(TokenSigner),
    absent(TopUpOrders),
    absent(PaymentProviders),
    absent(OrderPayments),
    absent(TopUpPolicy),
    absent(Quota),
    absent(Tiers),
    absent(Mints),
    absent(Customers),
    absent(CustomerPolicy),
    absent(CustomerKeys),
    absent(KeyLimitStore),
    absent(KeyLists),
    absent(MintHistory),
    absent(QuotaMovements),
    absent(Balances),
    absent(SettledUsage),
    absent(CursorSealer),
    absent(OperatorSessions),
    absent(OperatorPolicy),
    absent(AuditLogEntries),
    absent(AuditRuns),
    absent(Nodes),
    absent(Catalogs),
    absent(NodeList),
    absent(OpenHolds),
    absent(Users),
    absent(PaygAccounts),
    absent(ApiKeys),
    absent(ImageReviews),
    absent(TrustedProxies),
    absent(QrLinks),
    absent(WebhookEndpoints),
    absent(WebhookDeliveries),
    absent(WebhookTargets)
  )
)
