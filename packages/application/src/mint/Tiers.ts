/**
 * What resellers can mint.
 */
import type { Tier } from "@tollgate/domain/mint/Tier"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export class Tiers extends Context.Tag("@tollgate/application/Tiers")<
  Tiers,
  {
    /** Every stored tier, in no order; `priceList` of the domain says which are for sale, and in which order. */
    readonly all: Effect.Effect<ReadonlyArray<Tier>>
  }
>() {}
