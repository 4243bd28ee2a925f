import { describe, expect, it } from "@effect/vitest"
import * as PgUsageRollUps from "@tollgate/adapters-postgres/rankings/PgUsageRollUps"
import { UsageRollUps } from "@tollgate/application/rankings/UsageRollUps"
import { Effect, Layer } from "effect"
import { storeModels, storeSettlements } from "../../support/rankings/StoredUsage.ts"
import { aModel, aSettlement } from "../../support/rankings.ts"
import * as Stores from "../../support/Stores.ts"
import * as TestDatabase from "../../support/TestDatabase.ts"

const HOUR = 3_600_000

/** A week with a request in each hour. In the middle of the week, a clock in Berlin is set forward or back. */
const weekOf = (start: string) =>
  Array.from({ length: 7 * 24 }, (_, i) =>
    aSettlement("model", new Date(Date.parse(start) + i * HOUR), 1 + i, { streamed: true, ttftMillis: 40 + i })
  )

describe("usage roll-ups in a database whose time zone has daylight saving time", () => {
  it.scopedLive.each([
    { change: "begins", start: "2026-03-26T00:00:00Z" },
    { change: "ends", start: "2026-10-22T00:00:00Z" }
  ])("are rebuilt when daylight saving time $change", ({ start }) =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make()
      const settings = { ...database.settings, options: "-c TimeZone=Europe/Berlin" }
      yield* Effect.gen(function* () {
        const { rebuild } = yield* UsageRollUps
        yield* storeModels([aModel("model")])
        yield* storeSettlements(weekOf(start), "uncounted")
        expect((yield* rebuild).days).toBe(8)
        expect(yield* Stores.brokenInvariants).toEqual([])
        expect((yield* rebuild).corrected).toBe(0)
      }).pipe(
        Effect.provide(
          Layer.provideMerge(
            Layer.merge(PgUsageRollUps.layer, Stores.stores),
            TestDatabase.clientLayer({ ...database, settings })
          )
        )
      )
    })
  )
})
