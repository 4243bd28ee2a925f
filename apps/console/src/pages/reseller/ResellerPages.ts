/**
 * The pages of a reseller, which are loaded together after the login.
 */
import type { ComponentType } from "preact"
import type { PageProps, ResellerPage } from "../../routes/Routes.ts"
import { NewTopUp } from "../topups/NewTopUp.tsx"
import { TopUp } from "../topups/TopUp.tsx"
import { TopUps } from "../topups/TopUps.tsx"
import { Account } from "./Account.tsx"
import { Customer } from "./Customer.tsx"
import { Customers } from "./Customers.tsx"
import { Home } from "./Home.tsx"
import { Mint } from "./Mint.tsx"
import { Usage } from "./Usage.tsx"

export const pages: { readonly [N in ResellerPage]: ComponentType<PageProps> } = {
  home: Home,
  mint: Mint,
  customers: Customers,
  customer: Customer,
  topUps: TopUps,
  newTopUp: NewTopUp,
  topUp: TopUp,
  usage: Usage,
  account: Account
}
