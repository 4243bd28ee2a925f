import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { dayOf } from "@tollgate/domain/validation/Days"
import { parse } from "csv-parse/sync"
import { Effect, Layer } from "effect"
import { aLedger } from "../../support/LedgerRows.ts"
import * as Stores from "../../support/Stores.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { layer as commandLine, documentOf, start, tollgate } from "../CommandLine.ts"

const sums = {
  input_tokens: 10,
  cache_write_tokens: 0,
  cache_read_tokens: 0,
  output_tokens: 5,
  spent_usd_micro: "0.03",
  plan_value_usd_micro: "0.008",
  payg_usd_micro: "0.022",
  written_off_usd_micro: "0",
  operator_loss_usd_micro: "0.004"
}

const namesOf = ({ modelId, resellerId, settled }: Effect.Effect.Success<typeof aLedger>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ model: string; reseller: string; at: Date }>`
      SELECT m.public_name AS model, r.email AS reseller, s.settled_at AS at FROM model m, reseller r, settlement s
      WHERE m.id = ${modelId} AND r.id = ${resellerId} AND s.request_id = ${settled}`
    return { model: row?.model ?? "", reseller: row?.reseller ?? "", day: dayOf(row?.at ?? new Date(0)) }
  })

describe("tollgate spend report", () => {
  layer(Layer.provideMerge(Stores.stores, commandLine), { excludeTestServices: true })((it) => {
    it.effect("shows the spending by day, model or reseller", () =>
      Effect.gen(function* () {
        expect((yield* tollgate("spend", "report")).stdout).toMatch(/^No settled requests from /)
        const [one, other] = [yield* aLedger, yield* aLedger]
        const [first, second] = [yield* namesOf(one), yield* namesOf(other)]

        const byDay = documentOf(yield* tollgate("spend", "report", "--json"))
        expect(byDay).toMatchObject({
          time_zone: "Asia/Jakarta",
          rows: [{ day: first.day, requests: 2, input_tokens: 20, output_tokens: 10, spent_usd_micro: "0.06" }]
        })
        const byModel = documentOf(yield* tollgate("spend", "report", "--by", "model", "--json"))
        expect(byModel).toMatchObject({
          rows: [
            { model: first.model, requests: 1, ...sums },
            { model: second.model, requests: 1, ...sums }
          ]
        })
        const byBoth = documentOf(yield* tollgate("spend", "report", "--by", "reseller, day", "--json"))
        expect(byBoth).toMatchObject({
          rows: [first, second]
            .map(({ day, reseller }) => ({ reseller, day, requests: 1, ...sums }))
            .sort((a, b) => (a.reseller < b.reseller ? -1 : 1))
        })
        const shown = yield* tollgate("spend", "report", "--by", "model")
        expect(shown.stdout).toMatch(
          /^MODEL +REQUESTS +INPUT +CACHED +OUTPUT +SPENT +PAID BY PLANS +WRITTEN OFF +OPERATOR LOSS$/m
        )
        expect((yield* tollgate("spend", "report", "--from", "2020-01-01", "--to", "2020-01-02")).stdout).toContain(
          "No settled requests from 2020-01-01 to 2020-01-02."
        )
      })
    )

    it.effect("counts a customer at the reseller with the oldest link", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [one, other] = [yield* aLedger, yield* aLedger]
        yield* sql`INSERT INTO reseller_customer (reseller_id, user_id, linked_at)
          VALUES (${other.resellerId}, ${one.userId}, clock_timestamp() + interval '1 second')`
        const { reseller } = yield* namesOf(one)
        const document = documentOf(yield* tollgate("spend", "report", "--by", "reseller,model", "--json"))
        const { model } = yield* namesOf(one)
        const rows = (document as { rows: ReadonlyArray<{ model: string }> }).rows
        expect(rows.filter((row) => row.model === model)).toMatchObject([{ reseller, requests: 1 }])
      })
    )

    it.effect("prints CSV", () =>
      Effect.gen(function* () {
        const { model } = yield* namesOf(yield* aLedger)
        const { url } = yield* TestDatabase
        const environment = { DATABASE_URL: url, NODE_ENV: "test" }
        const csv = yield* start(environment, "spend", "report", "--by", "model", "--csv").printed
        expect(csv).toMatchObject({ code: 0, stderr: "" })
        const rows: ReadonlyArray<Record<string, string>> = parse(csv.stdout, { columns: true })
        expect(rows.find((row) => row.model === model)).toEqual({
          model,
          requests: "1",
          ...Object.fromEntries(Object.entries(sums).map(([name, value]) => [name, String(value)]))
        })
      })
    )

    it.effect("refuses unknown or repeated dimensions, too many days, and two formats", () =>
      Effect.gen(function* () {
        for (const args of [
          ["--by", "customer"],
          ["--by", "day,day"],
          ["--from", "2020-01-01"],
          ["--csv", "--json"]
        ]) {
          expect(yield* tollgate("spend", "report", ...args)).toMatchObject({ code: 2 })
        }
      })
    )
  })
})
