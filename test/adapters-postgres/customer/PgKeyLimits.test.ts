import { describe, expect, layer } from "@effect/vitest"
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { KeyLimitStore } from "@tollgate/application/customer/KeyLimits"
import { type KeyLimitsChange, replacementOf, UnknownModels } from "@tollgate/domain/customer/KeyLimits"
import { Effect } from "effect"
import * as Stores from "../../support/Stores.ts"

/** Limits a key to the model `m`, and then hides the model `m`. */
const aKeyOfAHiddenModel = Effect.gen(function* () {
  yield* Stores.aModel("m")
  const user = yield* Stores.aUser
  const { key } = yield* (yield* ApiKeys).create(user.email, "laptop", Stores.operator)
  const store = yield* KeyLimitStore
  const change = (limits: KeyLimitsChange) => store.change(key.id, limits, Stores.operator)
  yield* change({ models: ["m"] })
  yield* (yield* Catalogs).apply(
    Stores.catalogOf({ public_name: "m", hidden: true }, { public_name: "other" }),
    Stores.operator
  )
  return change
})

describe("the limits of a key to a model that was hidden later", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.effect("keep the model when another limit is changed", () =>
      Effect.gen(function* () {
        const change = yield* aKeyOfAHiddenModel
        const { key } = yield* change({ requests_per_minute: 1 })
        expect(key.limits).toMatchObject({ requestsPerMinute: 1, models: ["m"] })
      })
    )

    it.effect("can be set again with the model, and with further models", () =>
      Effect.gen(function* () {
        const change = yield* aKeyOfAHiddenModel
        const { key } = yield* change(replacementOf({ models: ["m", "other"] }))
        expect(key.limits.models).toEqual(["m", "other"])
      })
    )

    it.effect("cannot contain the model again after its removal", () =>
      Effect.gen(function* () {
        const change = yield* aKeyOfAHiddenModel
        yield* change({ models: ["other"] })
        expect(yield* Effect.flip(change({ models: ["m"] }))).toEqual(new UnknownModels({ models: ["m"] }))
      })
    )
  })
})
