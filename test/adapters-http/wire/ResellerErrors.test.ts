import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { type ResellerFailure, resellerErrorBody } from "@tollgate/adapters-http/wire/ResellerErrors"
import { BadSignature } from "@tollgate/application/topup/PaymentProviders"
import { Overloaded, RequestTooLarge } from "@tollgate/domain/inference/InferenceErrors"
import { TierNotAvailable } from "@tollgate/domain/mint/Tier"
import { IdempotencyConflict } from "@tollgate/domain/operations/Operation"
import { EmailBlacklisted } from "@tollgate/domain/reseller/Blacklist"
import { InsufficientQuota } from "@tollgate/domain/reseller/QuotaAdjustment"
import { ResellerNotActive } from "@tollgate/domain/reseller/Reseller"
import { InvalidCredentials } from "@tollgate/domain/reseller/ResellerToken"
import { EmailExists } from "@tollgate/domain/reseller/Signup"
import { PaymentProviderUnavailable } from "@tollgate/domain/topup/PaymentMethod"
import { TooManyUnpaidOrders, TopUpNotFound } from "@tollgate/domain/topup/TopUpOrder"
import { AmountOutOfRange } from "@tollgate/domain/topup/TopUpRequest"
import { NotFound, RateLimited } from "@tollgate/domain/validation/RequestErrors"
import { invalid, ValidationFailed } from "@tollgate/domain/validation/Validation"
import { WebhookDeliveryNotFound } from "@tollgate/domain/webhook/WebhookDelivery"
import { TooManyWebhookEndpoints, WebhookEndpointNotFound } from "@tollgate/domain/webhook/WebhookEndpoint"
import { describe, expect, it } from "vitest"

const all: ReadonlyArray<readonly [ResellerFailure, string]> = [
  [invalid("email", "a string"), "422 validation_error"],
  [new EmailExists(), "409 email_exists"],
  [new EmailBlacklisted(), "403 email_blacklisted"],
  [new InvalidCredentials(), "401 invalid_credentials"],
  [new ResellerNotActive({ status: "suspended" }), "403 reseller_not_active"],
  [new RateLimited({ retryAfterSeconds: 12 }), "429 rate_limited"],
  [new TooManyUnpaidOrders({ maxUnpaidOrders: 50, retryAfterSeconds: 12 }), "429 rate_limited"],
  [new AmountOutOfRange({ path: "amount_idr", bounds: null }), "422 amount_out_of_range"],
  [new PaymentProviderUnavailable({ retryAfterSeconds: 30 }), "503 provider_unavailable"],
  [new TopUpNotFound(), "404 topup_not_found"],
  [new WebhookEndpointNotFound(), "404 endpoint_not_found"],
  [new WebhookDeliveryNotFound(), "404 delivery_not_found"],
  [new TooManyWebhookEndpoints({ max: 10 }), "409 too_many_endpoints"],
  [new InsufficientQuota({ balanceUsdMicro: 1n, neededUsdMicro: 2n }), "402 insufficient_quota"],
  [new IdempotencyConflict(), "409 idempotency_conflict"],
  [new TierNotAvailable(), "422 tier_not_available"],
  [new NotFound({ what: "key" }), "404 not_found"],
  [new BadSignature({ provider: "midtrans" }), "401 invalid_signature"],
  [new RequestTooLarge({ limitBytes: 65_536 }), "413 request_too_large"],
  [new Overloaded({ retryAfterSeconds: 1 }), "503 overloaded"]
]

/** Errors that only operators can cause, with the command line or the operator API. */
const OPERATOR_REFUSALS = new Set(["AdjustmentConflict", "PatternNotListed", "ResellerNotFound", "ReviewRefused"])

describe("an error of the reseller routes", () => {
  it.each(all.map(([failure, expected]) => [expected, failure] as const))(
    "has its documented status, code and body: %s",
    (expected, failure) => {
      const { status, body } = resellerErrorBody(failure, "the id")
      const { code, message, request_id, details } = body.error
      expect(`${status} ${code}`).toBe(expected)
      expect({ request_id, ends: /[a-z0-9`][.]$/.test(message) }).toEqual({ request_id: "the id", ends: true })
      expect(details !== undefined).toBe(status === 422 && code !== "tier_not_available")
    }
  )

  it("has a row in this test if resellers can cause it", () => {
    const domain = resolve(import.meta.dirname, "../../../packages/domain/src")
    const declared = ["reseller", "mint", "topup", "operations", "validation", "webhook"]
      .flatMap((folder) => readdirSync(join(domain, folder)).map((file) => join(domain, folder, file)))
      .flatMap((file) => [...readFileSync(file, "utf8").matchAll(/TaggedError<\w+>\(\)\(\s*"(\w+)"/g)])
      .map(([, tag]) => tag ?? "")
      .filter((tag) => !OPERATOR_REFUSALS.has(tag))
    const rows = all.map(([failure]) => failure._tag as string)
    expect(declared.filter((tag) => !rows.includes(tag))).toEqual([])
    expect(declared.length).toBe(17)
  })

  it("has a `retry-after` of at least one second", () => {
    for (const seconds of [0, -1, 0.2, Number.NaN, 1]) {
      const { headers } = resellerErrorBody(new Overloaded({ retryAfterSeconds: seconds }), "")
      expect(headers).toEqual({ "retry-after": "1" })
    }
  })

  it("names the first invalid member in the message", () => {
    const details = [
      { path: "email", message: "a string" },
      { path: "name", message: "is missing" }
    ]
    const { body } = resellerErrorBody(new ValidationFailed({ details }), "")
    expect(body.error).toMatchObject({ message: "email must be a string.", details })
    expect(resellerErrorBody(invalid("name", "is missing"), "").body.error.message).toBe("name is missing.")
    expect(resellerErrorBody(invalid("", "it is not JSON"), "").body.error.message).toContain("it is not JSON")
  })

  it("states the seconds until the next attempt", () => {
    const message = (retryAfterSeconds: number) =>
      resellerErrorBody(new RateLimited({ retryAfterSeconds }), "").body.error.message
    expect(message(1)).toContain("Try again in 1 second.")
    expect(message(12)).toContain("Try again in 12 seconds.")
  })

  it("names no limits that only the payment provider defines", () => {
    const response = resellerErrorBody(new AmountOutOfRange({ path: "amount_usd_micro", bounds: null }), "")
    expect(response.body.error.message).not.toMatch(/null|undefined|\d/)
  })
})
