import { userInfo } from "node:os"
import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { aLedger, imageOf, imageSettlementOf, insertInto } from "../../support/LedgerRows.ts"
import { counted } from "../../support/rankings/StoredUsage.ts"
import * as Stores from "../../support/Stores.ts"
import { A_TIME, audited, layer as commandLine, documentOf, tollgate } from "../CommandLine.ts"

const review = (...words: ReadonlyArray<string>) => tollgate("images", "review", ...words)

let count = 0

/** Stores an image review of a user with a balance of 1,000 micro-USD minus 22,000 pico-USD. */
const aReview = (reason: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const ledger = yield* aLedger
    const id = `01890000-0000-7000-8000-${(++count).toString().padStart(12, "0")}`
    yield* sql.unsafe(`${imageOf(ledger, id, reason)}; ${counted(imageSettlementOf(ledger, id))};
      ${insertInto("image_review", { request_id: `'${id}'`, reason: `'${reason}'` })}`)
    return { id, ledger }
  })

describe("tollgate images review", () => {
  layer(Layer.provideMerge(Stores.stores, commandLine), { excludeTestServices: true })((it) => {
    it.effect("waives or charges each waiting image request once", () =>
      Effect.gen(function* () {
        expect(yield* review("list")).toMatchObject({ code: 0, stdout: "No image request waits for a review.\n" })
        expect((yield* review("list", "--all")).stdout).toBe("No reviews.\n")
        expect((yield* review("list", "--json")).stdout).toBe("[]\n")

        const [first, second] = [yield* aReview("timeout"), yield* aReview("unmetered")]
        const waiting = {
          request_id: first.id,
          user_id: first.ledger.userId,
          email: expect.stringContaining("@example.com"),
          model: expect.stringContaining("ledger-"),
          reason: "timeout",
          queued_at: A_TIME,
          resolution: null,
          charged_usd_micro: null,
          resolved_at: null,
          resolved_by: null,
          resolved_because: null
        }
        const listed = yield* review("list", "--json")
        expect(listed).toMatchObject({ code: 0, stderr: "" })
        expect(documentOf(listed)).toEqual([
          waiting,
          { ...waiting, request_id: second.id, user_id: second.ledger.userId, reason: "unmetered" }
        ])
        expect((yield* review("list")).stdout).toMatch(
          /^QUEUED AT +REQUEST +USER +MODEL +REASON +RESOLUTION +MICRO-USD$/m
        )

        const checked = yield* tollgate("doctor")
        expect(checked.stdout).toMatch(/^warn +images +waiting for a review: 2, the oldest since /m)
        expect(checked.stdout).toContain("tollgate images review list")

        const waived = yield* review("waive", first.id, "--json")
        expect(waived).toMatchObject({ code: 0, stderr: "" })
        const by = {
          resolved_at: A_TIME,
          resolved_by: userInfo().username,
          resolved_because: "cli: images review waive"
        }
        expect(documentOf(waived)).toEqual({ ...waiting, ...by, resolution: "waived" })

        const charged = yield* review("charge", second.id, "--usd-micro", "40", "--reason", "it was delivered")
        expect(charged).toMatchObject({ code: 0, stderr: "" })
        expect(charged.stdout).toMatch(
          /^Charged 40 micro-USD to \S+@example\.com; the balance is now 0\.000959 USD\.\n$/
        )

        expect((yield* review("list")).stdout).toBe("No image request waits for a review.\n")
        expect(documentOf(yield* review("list", "--all", "--json"))).toMatchObject([
          { resolution: "waived", charged_usd_micro: null },
          { resolution: "charged", charged_usd_micro: "40" }
        ])
        expect((yield* audited).slice(-2)).toMatchObject([
          { actor: userInfo().username, action: "image.waive", reason: "cli: images review waive" },
          {
            actor: userInfo().username,
            action: "image.charge",
            reason: "it was delivered",
            detail: { usd_micro: "40" }
          }
        ])
        expect(yield* tollgate("audit")).toMatchObject({ code: 0 })

        const again = yield* review("charge", second.id, "--usd-micro", "40", "--reason", "again", "--json")
        expect(again.code).toBe(3)
        expect(documentOf(again)).toMatchObject({ error: { code: "review_resolved" } })
        expect(again.stderr).toContain(`${second.id} is already charged. Nothing was changed.`)
        expect(yield* review("waive", first.id, "--reason", "again")).toMatchObject({ code: 3 })
      })
    )

    it.effect("refuses to charge more than the balance", () =>
      Effect.gen(function* () {
        const { id } = yield* aReview("abandoned")
        const poor = yield* review("charge", id, "--usd-micro", "1000", "--reason", "x", "--json")
        expect(poor.code).toBe(3)
        expect(documentOf(poor)).toMatchObject({ error: { code: "insufficient_balance" } })
        const unknown = yield* review("waive", id.replace(/^0/, "1"), "--reason", "x", "--json")
        expect(unknown.code).toBe(3)
        expect(documentOf(unknown)).toMatchObject({ error: { code: "review_not_found" } })
        expect(documentOf(yield* review("list", "--json"))).toHaveLength(1)
      })
    )

    it.effect("exits with 2 for wrong usage", () =>
      Effect.gen(function* () {
        const id = "01890000-0000-7000-8000-000000000001"
        const lines = [
          ["waive"],
          ["waive", "x", "--reason", "y"],
          ["charge", id, "--reason", "y"],
          ...["0", "-1", "1.5", "1000000001"].map((amount) => ["charge", id, "--usd-micro", amount, "--reason", "y"]),
          ["list", "--limit", "0"]
        ]
        for (const line of lines) expect(yield* review(...line), line.join(" ")).toMatchObject({ code: 2, stdout: "" })
        expect((yield* review()).stderr).toContain("images review needs a subcommand: charge, list, waive")
        expect((yield* tollgate("images")).stderr).toContain("images needs a subcommand: review")
        const help = yield* tollgate("--help")
        expect(help.stdout).toContain("\n  images review list [--all] [--limit N]")
        expect(help.stdout).toContain("\n  images review charge ID --usd-micro N [--reason TEXT]")
      })
    )
  })
})
