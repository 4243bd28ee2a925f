/**
 * The pages of an operator, which are loaded together after the link was opened.
 */
import type { ComponentType } from "preact"
import type { OperatorPage, PageProps } from "../../routes/Routes.ts"
import { AuditLog } from "./AuditLog.tsx"
import { Blacklist } from "./Blacklist.tsx"
import { Catalog } from "./Catalog.tsx"
import { Checks } from "./Checks.tsx"
import { Customer } from "./Customer.tsx"
import { Customers } from "./Customers.tsx"
import { Holds } from "./Holds.tsx"
import { Home } from "./Home.tsx"
import { Images } from "./Images.tsx"
import { Key } from "./Key.tsx"
import { Nodes } from "./Nodes.tsx"
import { Reseller } from "./Reseller.tsx"
import { Resellers } from "./Resellers.tsx"
import { Service } from "./Service.tsx"
import { Sessions } from "./Sessions.tsx"
import { TopUp } from "./TopUp.tsx"
import { TopUps } from "./TopUps.tsx"

export const pages: { readonly [N in OperatorPage]: ComponentType<PageProps> } = {
  operatorHome: Home,
  operatorResellers: Resellers,
  operatorReseller: Reseller,
  operatorBlacklist: Blacklist,
  operatorCustomers: Customers,
  operatorCustomer: Customer,
  operatorKey: Key,
  operatorTopUps: TopUps,
  operatorTopUp: TopUp,
  operatorImages: Images,
  operatorService: Service,
  operatorCatalog: Catalog,
  operatorNodes: Nodes,
  operatorHolds: Holds,
  operatorChecks: Checks,
  operatorAuditLog: AuditLog,
  operatorSessions: Sessions
}
