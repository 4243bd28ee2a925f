/**
 * The pages of the console and their paths. A path never contains a credential.
 */
import { createRouter, getPagePath } from "@nanostores/router"

const BASE = "/console"

export const $router = createRouter({
  start: BASE,
  signUp: `${BASE}/signup`,
  logIn: `${BASE}/login`,
  waiting: `${BASE}/waiting`,
  enterKey: `${BASE}/key`,
  home: `${BASE}/home`,
  mint: `${BASE}/mint`,
  customers: `${BASE}/customers`,
  customer: `${BASE}/customers/:id`,
  topUps: `${BASE}/topups`,
  newTopUp: `${BASE}/topups/new`,
  topUp: `${BASE}/topups/:id`,
  usage: `${BASE}/usage`,
  account: `${BASE}/account`,
  balance: `${BASE}/balance`,
  clients: `${BASE}/clients`,
  operator: `${BASE}/operator`,
  operatorHome: `${BASE}/operator/home`,
  operatorResellers: `${BASE}/operator/resellers`,
  operatorReseller: `${BASE}/operator/resellers/:id`,
  operatorBlacklist: `${BASE}/operator/blacklist`,
  operatorCustomers: `${BASE}/operator/customers`,
  operatorCustomer: `${BASE}/operator/customers/:id`,
  operatorKey: `${BASE}/operator/keys/:id`,
  operatorTopUps: `${BASE}/operator/topups`,
  operatorTopUp: `${BASE}/operator/topups/:id`,
  operatorImages: `${BASE}/operator/images`,
  operatorService: `${BASE}/operator/service`,
  operatorCatalog: `${BASE}/operator/catalog`,
  operatorNodes: `${BASE}/operator/nodes`,
  operatorHolds: `${BASE}/operator/holds`,
  operatorChecks: `${BASE}/operator/checks`,
  operatorAuditLog: `${BASE}/operator/audit-log`,
  operatorSessions: `${BASE}/operator/sessions`
} as const)

export type PageName =
  | "start"
  | "signUp"
  | "logIn"
  | "waiting"
  | "enterKey"
  | "operator"
  | ResellerPage
  | CustomerPage
  | OperatorPage
export type ResellerPage =
  | "home"
  | "mint"
  | "customers"
  | "customer"
  | "topUps"
  | "newTopUp"
  | "topUp"
  | "usage"
  | "account"
export type CustomerPage = "balance" | "clients"
type OperatorItemPage = "operatorReseller" | "operatorCustomer" | "operatorKey" | "operatorTopUp"
export type OperatorPage =
  | OperatorItemPage
  | "operatorHome"
  | "operatorResellers"
  | "operatorBlacklist"
  | "operatorCustomers"
  | "operatorTopUps"
  | "operatorImages"
  | "operatorService"
  | "operatorCatalog"
  | "operatorNodes"
  | "operatorHolds"
  | "operatorChecks"
  | "operatorAuditLog"
  | "operatorSessions"

/** Returns the path of a page that has no parameter. */
export const pathOf = (page: Exclude<PageName, "customer" | "topUp" | OperatorItemPage>): string =>
  getPagePath($router, page)

export const customerPath = (id: string): string => getPagePath($router, "customer", { id })
export const topUpPath = (id: string): string => getPagePath($router, "topUp", { id })

/** Returns the path of an operator's page about one reseller, customer, key or order. */
export const operatorPath = (page: OperatorItemPage, id: string): string => getPagePath($router, page, { id })

/** Returns the path of a shown page with its query, such as `/console/mint?email=budi%40toko.example`. */
export const addressOf = ({ path, search }: { readonly path: string; readonly search: Record<string, string> }) => {
  const query = new URLSearchParams(search).toString()
  return query === "" ? path : `${path}?${query}`
}

export const go = (path: string): void => {
  $router.open(path)
}

/** Opens a page in place of the current page. The back button then skips the replaced page. */
export const goInstead = (path: string): void => {
  $router.open(path, true)
}

/** The props of every page of a session. */
export interface PageProps {
  /** The parameter of the path; empty if the path has no parameter. */
  readonly id: string
}
