/**
 * The types of the operator API that several pages share, and the query parameters of their lists.
 */
import type { components } from "../../dist/types/GatewayApi.d.ts"

type Schemas = components["schemas"]
export type Reseller = Schemas["OperatorReseller"]
export type OperatorTopUp = Schemas["OperatorTopUp"]
export type ImageReview = Schemas["ImageReview"]
export type KeyPage = Schemas["KeyPage"]
export type ListedKey = Schemas["ListedKey"]
export type KeyStatus = Schemas["OperatorKey"]
export type Catalog = Schemas["StoredCatalog"]
export type CatalogChange = Schemas["CatalogChange"]

/** Returns the query parameters of a page: the parameters that select rows, and the cursor. */
export const pageQuery = <Filter extends Readonly<Record<string, string>>>(
  filter: Filter,
  cursor: string | undefined
): Partial<Filter> & { readonly cursor?: string } => {
  const selected = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== "")) as Partial<Filter>
  return cursor === undefined ? selected : { ...selected, cursor }
}
