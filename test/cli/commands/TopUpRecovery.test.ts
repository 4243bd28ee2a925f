/**
 * The commands for the time after a restore of the database (docs/backup.md). An export is a file of transactions from
 * the dashboard of a payment provider.
 */
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, layer } from "@effect/vitest"
import { TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import { orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { Effect } from "effect"
import { aNewTopUp } from "../../support/Programme.ts"
import { listOf, startedSimulator, textOf } from "../../support/SimulatedPayments.ts"
import { documentOf, tollgate } from "../CommandLine.ts"
import * as Programme from "./Programme.ts"

const CONTRACT = "0x55d398326f99059fF775485246999027B3197955"
const UNKNOWN = "RTO-01930000-0000-7000-8000-0000000000aa"

const exported = (lines: ReadonlyArray<string>): string => {
  const file = join(mkdtempSync(join(tmpdir(), "tollgate-export-")), "transactions.csv")
  writeFileSync(file, lines.join("\r\n"))
  return file
}

describe("tollgate topups, after a restore", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("lists the unknown, abandoned and expired orders of an export", () =>
      Effect.gen(function* () {
        const { id: resellerId } = yield* Programme.signedUp("exported@example.com")
        const orders = yield* TopUpOrders
        const open = yield* Programme.orderedQris(resellerId)
        const credited = yield* Programme.orderedBep20(resellerId, 10_000_000n)
        const abandoned = yield* orders.draft(aNewTopUp(resellerId))
        yield* orders.abandon(abandoned.id, "a test")
        const expired = yield* Programme.orderedQris(resellerId)
        yield* orders.recordObservation(expired.id, { _tag: "Expired", received: undefined })
        const numbers = [open, credited, abandoned, expired].map(({ id }) => orderNumberOf(id))
        const lines = [...numbers, UNKNOWN].map((number) => `2026-11-22,settlement,"${number}",105000`)

        const found = yield* tollgate(
          "topups",
          "unknown",
          "--export",
          exported(["date,status,order", ...lines]),
          "--json"
        )
        expect(found, found.stderr).toMatchObject({ code: 1 })
        expect(documentOf(found)).toEqual({
          order_numbers: 5,
          orders: [
            { order_number: numbers[2], state: "abandoned", line: lines[2] },
            { order_number: numbers[3], state: "expired", line: lines[3] },
            { order_number: UNKNOWN, state: "unknown", line: lines[4] }
          ]
        })
        expect(found.stderr).toContain("tollgate quota adjust")

        const known = yield* tollgate("topups", "unknown", "--export", exported(lines.slice(0, 2)))
        expect(known).toMatchObject({
          code: 0,
          stdout: expect.stringContaining("All 2 orders of the export are in the database")
        })
      })
    )

    it.effect("shows the part around the order number of an export in one long line", () =>
      Effect.gen(function* () {
        const transactions = Array.from({ length: 3_000 }, (_, i) => ({
          order_id: `RTO-01930000-0000-7000-8000-${String(i).padStart(12, "0")}`,
          amount: i,
          payer: "ada@example.com ".repeat(10)
        }))
        const file = exported([JSON.stringify(transactions)])
        const found = yield* tollgate("topups", "unknown", "--export", file, "--json")
        const { orders } = documentOf(found) as { orders: ReadonlyArray<{ order_number: string; line: string }> }
        expect(orders).toHaveLength(3_000)
        for (const { line, order_number } of [orders[0], orders[1_500], orders[2_999]].flatMap((one) => one ?? [])) {
          expect(line).toContain(`"${order_number}","amount":${Number(order_number.slice(-12))},"payer":"ada@`)
          expect(line.length).toBeLessThan(700)
        }
        const text = yield* tollgate("topups", "unknown", "--export", file)
        expect(text).toMatchObject({ code: 1, stderr: expect.stringContaining("3000 of 3000 orders") })
      })
    )

    it.effect("refuses an export that is not a text in UTF-8", () =>
      Effect.gen(function* () {
        const file = exported([])
        const text = Buffer.from(`\uFEFFdate,order\r\n2026-11-22,${UNKNOWN}\r\n`, "utf16le")
        for (const bytes of [text, Buffer.from("PK\u0003\u0004\u0014\u0000\u0006\u0000", "latin1")]) {
          writeFileSync(file, bytes)
          const refused = yield* tollgate("topups", "unknown", "--export", file, "--json")
          expect(refused.code).toBe(2)
          expect(documentOf(refused)).toMatchObject({ error: { code: "file_not_text" } })
        }
      })
    )

    it.effect("states that an export contains no order number", () =>
      Effect.gen(function* () {
        const none = yield* tollgate(
          "topups",
          "unknown",
          "--export",
          exported(["date,status,amount", "2026-11-22,paid,1"])
        )
        expect(none).toMatchObject({ code: 0, stdout: expect.stringContaining("contains no order number") })
        expect(none.stdout).not.toContain("in the database")
      })
    )

    /** Starts a simulator of payment providers, which the commands use from then on. */
    const simulated = Effect.gen(function* () {
      const { baseUrl, get, post } = yield* startedSimulator()
      Object.assign(process.env, { PAYMENTS_SIMULATOR: "on", PAYMENTS_SIM_PORT: new URL(baseUrl).port })
      /** Sends five USDT to each address whose balance was read. */
      const payAll = Effect.gen(function* () {
        const read = listOf((yield* get("/payments")).body.payments)
        const sent = yield* Effect.forEach(read, ({ reference }) =>
          post("/bsc/transfers", {
            deposit_address: textOf(reference),
            contract_address: CONTRACT,
            raw: "5000000000000000000"
          })
        )
        const finalAt = sent.map(({ body }) => Date.parse(textOf(body.final_at)))
        yield* Effect.sleep(Math.max(...finalAt) - Date.now() + 10)
      })
      return { payAll }
    })
    const skipThree = tollgate("topups", "skip-addresses", "--count", "3", "--reason", "restore", "--json")

    it.scoped("finds a deposit at a skipped address", () =>
      Effect.gen(function* () {
        const { payAll } = yield* simulated
        const { id: resellerId } = yield* Programme.signedUp("skipped@example.com")
        const orders = yield* TopUpOrders
        const before = yield* Programme.orderedBep20(resellerId, 1n)
        const skip = yield* skipThree
        const first = (before.depositIndex ?? 0) + 1
        expect(documentOf(skip), skip.stderr).toEqual({ first_index: first, last_index: first + 2 })
        const after = yield* orders.draft(aNewTopUp(resellerId))
        expect(after.depositIndex).toBe(first + 3)
        yield* orders.abandon(after.id, "a test")

        const one = ["--from", String(first), "--to", String(first)]
        const none = yield* tollgate("topups", "deposits", ...one, "--json")
        expect(documentOf(none), none.stderr).toEqual([])
        yield* payAll
        const found = yield* tollgate("topups", "deposits", ...one, "--json")
        const deposit = { token_kind: "usdt", received_raw: "5000000000000000000", received_usd_micro: "5000000" }
        expect(documentOf(found), found.stderr).toMatchObject([deposit])
        expect((yield* tollgate("topups", "deposits", ...one)).stdout).toMatch(/ usdt +5\.000000 USD$/m)
      })
    )

    it.scoped("finds the deposit of an order that was a draft at the restored time", () =>
      Effect.gen(function* () {
        const { payAll } = yield* simulated
        const { id: resellerId } = yield* Programme.signedUp("drafted@example.com")
        const draft = yield* Effect.flatMap(TopUpOrders, (orders) => orders.draft(aNewTopUp(resellerId)))
        const known = yield* Programme.orderedBep20(resellerId, 1n)
        const skip = yield* skipThree
        const first = draft.depositIndex ?? 0
        const last = (known.depositIndex ?? 0) + 3
        expect(documentOf(skip), skip.stderr).toEqual({ first_index: first, last_index: last })

        const range = ["--from", String(first), "--to", String(last)]
        yield* tollgate("topups", "deposits", ...range, "--json")
        yield* payAll
        const found = yield* tollgate("topups", "deposits", ...range, "--json")
        const indexes = (documentOf(found) as ReadonlyArray<{ index: number }>).map(({ index }) => index)
        expect(indexes, found.stderr).toEqual([first, last - 2, last - 1, last])
      })
    )

    it.effect("refuses an empty or too large range", () =>
      Effect.gen(function* () {
        expect(yield* tollgate("topups", "deposits", "--from", "5", "--to", "4")).toMatchObject({ code: 2 })
        expect(yield* tollgate("topups", "deposits", "--from", "0", "--to", "10000")).toMatchObject({ code: 2 })
        for (const count of ["x", "0", "1000001"]) {
          const refused = yield* tollgate("topups", "skip-addresses", "--count", count, "--reason", "r")
          expect(refused).toMatchObject({
            code: 2,
            stderr: expect.stringContaining("--count: expected a whole number from 1 to 1000000")
          })
        }
      })
    )
  })
})
