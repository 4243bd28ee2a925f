/**
 * The catalog: the snapshot requests are served from, and the way to change it.
 */
import type { Catalog } from "@tollgate/domain/catalog/Catalog"
import type { CatalogTerms } from "@tollgate/domain/catalog/CatalogFile"
import type { Model, TierTerms } from "@tollgate/domain/catalog/Model"
import type { Provider } from "@tollgate/domain/catalog/Provider"
import type { Operator } from "@tollgate/domain/operations/Operation"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/** The snapshot in this process; swapped whole when any node applies a catalog. */
export class CurrentCatalog extends Context.Tag("@tollgate/application/CurrentCatalog")<
  CurrentCatalog,
  { readonly get: () => Catalog }
>() {}

export interface CatalogChange {
  readonly version: number
  readonly added: ReadonlyArray<string>
  readonly changed: ReadonlyArray<string>
  readonly retired: ReadonlyArray<string>
}

/** A stored tier, with the model it belongs to. */
export interface StoredTier extends TierTerms {
  readonly id: string
  readonly publicName: string
}

export interface StoredCatalog {
  readonly version: number
  readonly providers: ReadonlyArray<Provider>
  /** Retired models too. */
  readonly models: ReadonlyArray<Model>
  readonly tiers: ReadonlyArray<StoredTier>
}

export class Catalogs extends Context.Tag("@tollgate/application/Catalogs")<
  Catalogs,
  {
    /** Applies the whole file in one transaction; models no longer in it are retired, prices that differ are new rows. */
    readonly apply: (terms: CatalogTerms, operator: Operator) => Effect.Effect<CatalogChange>
    readonly load: Effect.Effect<StoredCatalog>
  }
>() {}
