import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { A_TIME, AN_ID, audited, layer as commandLine, documentOf, tollgate } from "../CommandLine.ts"

const HOOK = "https://hooks.example/tollgate"
const json = (...args: ReadonlyArray<string>) =>
  Effect.map(tollgate("webhooks", ...args, "--json"), (printed) => documentOf(printed) as Record<string, string>)

describe("tollgate webhooks", () => {
  layer(commandLine, { excludeTestServices: true })((it) => {
    it.effect("records each change of an endpoint in the audit log", () =>
      Effect.gen(function* () {
        expect((yield* tollgate("webhooks", "endpoints", "list")).stdout).toBe("No endpoints found.\n")
        const events = "balance.low, reseller.reviewed"
        const created = yield* json("endpoints", "create", HOOK, "--events", events, "--quota-below", "5000000")
        const { secret, ...endpoint } = created
        expect(secret).toMatch(/^whsec_/)
        expect(endpoint).toEqual({
          endpoint_id: AN_ID,
          reseller_id: null,
          url: HOOK,
          events: ["balance.low", "reseller.reviewed"],
          thresholds: { quota_usd_micro: 5_000_000, payg_usd_micro: null, plan_tokens: null },
          enabled: true,
          created_at: A_TIME,
          previous_secret_until: null
        })
        const id = `${endpoint.endpoint_id}`
        expect(documentOf(yield* tollgate("webhooks", "endpoints", "list", "--json"))).toEqual([endpoint])
        expect((yield* tollgate("webhooks", "endpoints", "list")).stdout).toMatch(/operator +yes +balance\.low/)
        expect(yield* json("endpoints", "update", id, "--enabled", "off", "--quota-below", "none")).toEqual({
          ...endpoint,
          enabled: false,
          thresholds: { quota_usd_micro: null, payg_usd_micro: null, plan_tokens: null }
        })
        const rotated = yield* json("endpoints", "rotate", id)
        expect(rotated.secret).not.toBe(secret)
        expect(rotated.previous_secret_until).toEqual(A_TIME)
        expect(yield* json("endpoints", "delete", id, "--yes")).toEqual({ endpoint_id: id, deleted: true })
        expect((yield* audited).map(({ action, reason }) => [action, reason])).toEqual([
          ["webhook.create", "cli: webhooks endpoints create"],
          ["webhook.change", "cli: webhooks endpoints update"],
          ["webhook.rotate", "cli: webhooks endpoints rotate"],
          ["webhook.delete", "cli: webhooks endpoints delete"]
        ])
      }).pipe(Effect.orDie)
    )

    it.effect("lists, shows and replays a delivery", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        expect((yield* tollgate("webhooks", "list")).stdout).toBe("No deliveries found.\n")
        const { endpoint_id: id = "" } = yield* json("endpoints", "create", HOOK, "--events", "topup.credited")
        const { delivery_id = "", event_id } = yield* json("endpoints", "test", id)
        yield* sql`UPDATE webhook_delivery SET status = 'failed', attempts = 9, last_failure = 'timeout'`
        const delivery = { delivery_id, event_id, type: "webhook.test", status: "failed", last_failure: "timeout" }
        expect(yield* json("list", "--status", "failed")).toMatchObject([delivery])
        expect(yield* json("list", "--status", "pending")).toEqual([])
        expect(yield* json("show", delivery_id)).toMatchObject({
          ...delivery,
          body: { type: "webhook.test", data: { endpoint_id: id } }
        })
        expect((yield* tollgate("webhooks", "show", delivery_id)).stdout).toContain('"type": "webhook.test"')
        expect(yield* json("replay", delivery_id, "--reason", "ticket 7")).toMatchObject({
          event_id,
          status: "pending",
          attempts: 0
        })
        expect((yield* audited).slice(-2)).toMatchObject([
          { action: "webhook.test", reason: "cli: webhooks endpoints test" },
          { action: "webhook.replay", reason: "ticket 7" }
        ])
      }).pipe(Effect.orDie)
    )

    it.effect("refuses wrong values and unknown ids", () =>
      Effect.gen(function* () {
        const wrong: ReadonlyArray<ReadonlyArray<string>> = [
          ["endpoints", "create", "https://127.0.0.1/", "--events", "balance.low"],
          ["endpoints", "create", HOOK, "--events", "topup.paid"],
          ["endpoints", "create", HOOK, "--events", "balance.low", "--plan-below", "many"],
          ["show", "no-id"]
        ]
        for (const args of wrong) expect((yield* tollgate("webhooks", ...args)).code, args.join(" ")).toBe(2)
        const id = "019a9f0e-6666-7d1a-9a41-6f1f0d7b2c11"
        const unknown: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
          ["endpoint_not_found", ["endpoints", "update", id, "--enabled", "on"]],
          ["endpoint_not_found", ["endpoints", "delete", id, "--yes"]],
          ["delivery_not_found", ["show", id]],
          ["delivery_not_found", ["replay", id]],
          ["reseller_not_found", ["list", "--reseller", "none@example.com"]]
        ]
        for (const [code, args] of unknown) {
          const printed = yield* tollgate("webhooks", ...args, "--json")
          expect([printed.code, documentOf(printed)], args.join(" ")).toMatchObject([3, { error: { code } }])
        }
      })
    )
  })
})
