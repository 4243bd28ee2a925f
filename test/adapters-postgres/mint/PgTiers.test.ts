import { describe, expect, layer } from "@effect/vitest"
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { Tiers } from "@tollgate/application/mint/Mints"
import { priceList } from "@tollgate/domain/mint/Tier"
import { Effect } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"

const all = Effect.flatMap(Tiers, (tiers) => tiers.all)
const tier = (cents: number, tokens: number, for_sale = true) => ({
  tier_usd_cents: cents,
  granted_tokens: tokens,
  for_sale
})
const apply = (...models: ReadonlyArray<{ readonly public_name: string; readonly [member: string]: unknown }>) =>
  Effect.flatMap(Catalogs, (catalogs) => catalogs.apply(Stores.catalogOf(...models), Stores.operator))

// The tests tell one story: each begins with a catalog of its own.
describe("tiers in Postgres", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("are those of the catalog, with their model", () =>
      Effect.gen(function* () {
        yield* apply(
          { public_name: "a", tiers: [tier(500, 2_000_000), tier(100, 300_000, false)] },
          { public_name: "b", hidden: true, tiers: [tier(500, 1)] }
        )
        const models = (yield* (yield* Catalogs).load).models
        const found = yield* all
        expect(found.map(({ id, ...rest }) => rest)).toEqual(
          expect.arrayContaining([
            {
              modelId: models.find(({ publicName }) => publicName === "a")?.id,
              modelName: "a",
              modelCallable: true,
              tierUsdCents: 500n,
              grantedTokens: 2_000_000n,
              forSale: true
            },
            expect.objectContaining({ modelName: "a", tierUsdCents: 100n, forSale: false }),
            expect.objectContaining({ modelName: "b", modelCallable: false, forSale: true })
          ])
        )
        expect(found).toHaveLength(3)
      })
    )

    it.effect("keep their ids, whatever the catalog does to them and their model", () =>
      Effect.gen(function* () {
        const sold = { public_name: "kept", tiers: [tier(500, 10), tier(900, 20)] }
        const ofKept = Effect.map(all, (tiers) => tiers.filter(({ modelName }) => modelName === "kept"))
        const ids = Effect.map(ofKept, (tiers) => new Map(tiers.map(({ tierUsdCents, id }) => [tierUsdCents, id])))
        yield* apply(sold)
        const first = yield* ids
        expect(first.size).toBe(2)
        yield* apply({ ...sold, tiers: [tier(900, 25)] })
        expect(yield* ids).toEqual(first)
        yield* apply({ public_name: "another" })
        expect((yield* ofKept).map(({ forSale, modelCallable }) => [forSale, modelCallable])).toEqual([
          [false, false],
          [false, false]
        ])
        yield* apply(sold)
        expect(yield* ids).toEqual(first)
        expect(priceList(yield* ofKept).map(({ grantedTokens }) => grantedTokens)).toEqual([10n, 20n])
      })
    )
  })
})
