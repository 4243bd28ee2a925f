/**
 * The pages of a customer, which are loaded together after the API key is entered.
 */
import type { ComponentType } from "preact"
import type { CustomerPage, PageProps } from "../../routes/Routes.ts"
import { Clients } from "./Clients.tsx"
import { OwnBalance } from "./OwnBalance.tsx"

export const pages: { readonly [N in CustomerPage]: ComponentType<PageProps> } = {
  balance: OwnBalance,
  clients: Clients
}
