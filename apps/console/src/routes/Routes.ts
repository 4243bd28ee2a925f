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
  reviews: `${BASE}/reviews`
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
export type OperatorPage = "reviews"

/** Returns the path of a page that has no parameter. */
export const pathOf = (page: Exclude<PageName, "customer" | "topUp">): string => getPagePath($router, page)

export const customerPath = (id: string): string => getPagePath($router, "customer", { id })
export const topUpPath = (id: string): string => getPagePath($router, "topUp", { id })

export const go = (path: string): void => {
  $router.open(path)
}

/** Opens a page in place of the current one, which the back button then skips. */
export const goInstead = (path: string): void => {
  $router.open(path, true)
}

/** The props of every page of a session. */
export interface PageProps {
  /** The parameter of the path; empty for a path without one. */
  readonly id: string
}
