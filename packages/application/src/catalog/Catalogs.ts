/**
 * Declares the ports of the catalog: `CurrentCatalog` is the copy in memory, `Catalogs` is the stored catalog.
 */
import type { Catalog } from "@tollgate/domain/catalog/Catalog"
import type { MemberChange } from "@tollgate/domain/catalog/CatalogDifference"
import type { CatalogTerms } from "@tollgate/domain/catalog/CatalogFile"
import type { Model, TierTerms } from "@tollgate/domain/catalog/Model"
import type { Provider } from "@tollgate/domain/catalog/Provider"
import type { Operator } from "@tollgate/domain/operations/Operation"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/** The copy of the catalog in this process. The whole copy is replaced after the stored catalog has changed. */
export class CurrentCatalog extends Context.Tag("@tollgate/application/CurrentCatalog")<
  CurrentCatalog,
  { readonly get: () => Catalog }
>() {}

/**
 * The changes that a catalog file makes to the stored catalog. The names are public names of models, and
 * `provider <name>` for providers.
 */
export interface CatalogChange {
  /** The version of the stored catalog after the call. */
  readonly version: number
  readonly added: ReadonlyArray<string>
  readonly changed: ReadonlyArray<string>
  readonly retired: ReadonlyArray<string>
  /** The members that differ in the changed entries. */
  readonly members: ReadonlyArray<MemberChange>
}

/** A stored tier with the public name of its model. */
export interface StoredTier extends TierTerms {
  readonly id: string
  readonly publicName: string
}

export interface StoredCatalog {
  readonly version: number
  readonly providers: ReadonlyArray<Provider>
  /** All models, including retired ones. */
  readonly models: ReadonlyArray<Model>
  readonly tiers: ReadonlyArray<StoredTier>
}

export class Catalogs extends Context.Tag("@tollgate/application/Catalogs")<
  Catalogs,
  {
    /**
     * Applies a catalog file in one transaction. Retires the models and providers that are not in the file. A changed
     * price gets its own row. The row of the old price stays unchanged.
     */
    readonly apply: (terms: CatalogTerms, operator: Operator) => Effect.Effect<CatalogChange>
    /** Returns the changes that `apply` would make. Writes nothing. */
    readonly preview: (terms: CatalogTerms) => Effect.Effect<CatalogChange>
    readonly load: Effect.Effect<StoredCatalog>
  }
>() {}
