/**
 * Tests the faults that every provider can have, when it opens and when it refreshes a payment.
 */
import { it } from "@effect/vitest"
import type { PaymentLimits } from "@tollgate/adapters-upstream/topup/wire/PaymentHttp"
import type { OpenedPayment, PaymentIntent, PaymentProvider } from "@tollgate/application/topup/PaymentProviders"
import { Effect, type Scope } from "effect"
import { describe, expect } from "vitest"
import { ScriptedUpstream, unusedAddress } from "../../support/ScriptedUpstream.ts"
import { json, resetImmediately, type Script, silence, text } from "../../support/upstream/Script.ts"
import { LONG_TIMEOUT } from "./Payments.ts"

export interface FaultyProvider {
  readonly make: (baseUrl: string, limits: Partial<PaymentLimits>) => Effect.Effect<PaymentProvider, never, Scope.Scope>
  readonly intent: PaymentIntent
  readonly opened: OpenedPayment
  /** Error bodies of responses with status 200, and the expected kind of failure. */
  readonly bodyErrors: ReadonlyArray<readonly [what: string, body: unknown, kind: string]>
}

const HTML = "<!doctype html><html><body>Be right back</body></html>"

const faults: ReadonlyArray<readonly [what: string, script: Script, kind: string, ambiguous: boolean]> = [
  ["status 500", json({ error: "oops" }, 500), "server_error", true],
  ["status 503", text(HTML, "text/html", 503), "server_error", true],
  ["status 429", json({}, 429), "rate_limited", false],
  ["status 401", json({}, 401), "unauthorized", false],
  ["a reset connection", resetImmediately, "network", true],
  ["an HTML body", text(HTML, "text/html"), "bad_response", true],
  ["a JSON body of another shape", json({ hello: "world" }), "bad_response", true],
  ["a response that is too large", text(`[${"1,".repeat(200_000)}1]`, "application/json"), "bad_response", true]
]

export const describeFaults = ({ make, intent, opened, bodyErrors }: FaultyProvider) =>
  describe("a payment cannot be opened or refreshed", () => {
    const both = (provider: PaymentProvider) =>
      Effect.all([Effect.flip(provider.open(intent)), Effect.flip(provider.refresh(intent, opened))])

    const scripted = [
      ...faults,
      ...bodyErrors.map(([what, body, kind]) => [what, json(body), kind, undefined] as const)
    ]
    for (const [what, script, kind, ambiguous] of scripted) {
      it.scopedLive(`because of ${what}`, () =>
        Effect.gen(function* () {
          const upstream = yield* ScriptedUpstream.scoped({ basePath: "" })
          upstream.always(script)
          const provider = yield* make(upstream.baseUrl, LONG_TIMEOUT)
          const [opening, refreshing] = yield* both(provider)
          expect(opening).toMatchObject({ _tag: "ProviderUnavailable", provider: provider.label, kind })
          expect(refreshing).toMatchObject({ _tag: "ProviderUnavailable", provider: provider.label, kind })
          expect(refreshing.ambiguous).toBe(false)
          if (ambiguous !== undefined) expect(opening).toMatchObject({ ambiguous })
        })
      )
    }

    it.scopedLive("if no server listens", () =>
      Effect.gen(function* () {
        const provider = yield* make(new URL(yield* Effect.promise(unusedAddress)).origin, LONG_TIMEOUT)
        const [opening, refreshing] = yield* both(provider)
        expect(opening).toMatchObject({ kind: "network", ambiguous: false })
        expect(refreshing).toMatchObject({ kind: "network", ambiguous: false })
      })
    )

    it.scopedLive("if the provider does not respond", () =>
      Effect.gen(function* () {
        const upstream = yield* ScriptedUpstream.scoped({ basePath: "" })
        upstream.always(silence)
        const provider = yield* make(upstream.baseUrl, { timeoutMillis: 50 })
        const [opening, refreshing] = yield* both(provider)
        expect(opening).toMatchObject({ kind: "timeout", ambiguous: true })
        expect(refreshing).toMatchObject({ kind: "timeout", ambiguous: false })
      })
    )
  })
