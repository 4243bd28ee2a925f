import { ChangeKeyRequest, CustomerKeyRequest, CustomerRequest } from "@tollgate/domain/customer/Customer"
import { MintRequest } from "@tollgate/domain/mint/Mint"
import { Login, PasswordChange, Signup } from "@tollgate/domain/reseller/Signup"
import { TopUpRequest } from "@tollgate/domain/topup/TopUpRequest"
import { EndpointChange, EndpointRequest } from "@tollgate/domain/webhook/WebhookEndpoint"
import { describe, expect, it } from "vitest"
import {
  type DocumentedBodies,
  type DocumentedRoutes,
  expectResponses,
  expectValidExamples
} from "../DocumentedRoutes.ts"
import { routesOf, schemas, securitySchemes, undescribedMembers } from "../OpenApiDocument.ts"

const anyToken = { 401: ["invalid_credentials"], 500: ["internal_error"], 503: ["overloaded"] }
const anyBody = { 413: ["request_too_large"], 503: ["overloaded"] }

const anyRead = { ...anyToken, 422: ["validation_error"] }

const routes: DocumentedRoutes = {
  "POST /api/reseller/auth/signup": [
    201,
    {
      500: ["internal_error"],
      ...anyBody,
      403: ["email_blacklisted"],
      409: ["email_exists"],
      422: ["validation_error"],
      429: ["rate_limited"]
    }
  ],
  "POST /api/reseller/auth/login": [
    200,
    { ...anyToken, ...anyBody, 403: ["reseller_not_active"], 422: ["validation_error"], 429: ["rate_limited"] }
  ],
  "GET /api/reseller/me": [200, anyToken],
  "GET /api/reseller/balance": [200, anyToken],
  "POST /api/reseller/topup": [
    201,
    {
      ...anyToken,
      ...anyBody,
      409: ["idempotency_conflict"],
      422: ["validation_error", "amount_out_of_range"],
      429: ["rate_limited"],
      503: ["overloaded", "provider_unavailable"]
    }
  ],
  "GET /api/reseller/topup/{orderID}": [200, { ...anyToken, 404: ["topup_not_found"] }],
  "POST /api/reseller/topup/{orderID}/check": [200, { ...anyToken, 404: ["topup_not_found"] }],
  "GET /api/reseller/topups": [200, { ...anyToken, 422: ["validation_error"] }],
  "GET /api/reseller/tiers": [200, anyToken],
  "POST /api/reseller/mint": [
    200,
    {
      ...anyToken,
      ...anyBody,
      402: ["insufficient_quota"],
      409: ["idempotency_conflict"],
      422: ["validation_error", "tier_not_available"],
      429: ["rate_limited"]
    }
  ],
  "GET /api/reseller/customers": [200, anyToken],
  "POST /api/reseller/customers": [200, { ...anyToken, ...anyBody, 422: ["validation_error"] }],
  "POST /api/reseller/customers/{userID}/keys": [
    201,
    { ...anyToken, ...anyBody, 404: ["not_found"], 422: ["validation_error"] }
  ],
  "PATCH /api/reseller/keys/{keyID}": [200, { ...anyToken, ...anyBody, 404: ["not_found"], 422: ["validation_error"] }],
  "DELETE /api/reseller/keys/{keyID}": [200, { ...anyToken, 404: ["not_found"] }],
  "GET /api/reseller/keys/{keyID}/balances": [200, { ...anyToken, 404: ["not_found"], 422: ["validation_error"] }],
  "GET /api/reseller/customers/{userID}/balances": [
    200,
    { ...anyToken, 404: ["not_found"], 422: ["validation_error"] }
  ],
  "GET /api/reseller/customers/{userID}/keys": [200, { ...anyToken, 404: ["not_found"], 422: ["validation_error"] }],
  "GET /api/reseller/keys": [200, { ...anyToken, 422: ["validation_error"] }],
  "GET /api/reseller/mints": [200, { ...anyToken, 422: ["validation_error"] }],
  "GET /api/reseller/usage": [200, anyRead],
  "GET /api/reseller/usage/daily": [200, anyRead],
  "GET /api/reseller/usage.csv": [200, anyRead],
  "GET /api/reseller/mints.csv": [200, anyRead],
  "GET /api/reseller/topups.csv": [200, anyRead],
  "GET /api/reseller/quota.csv": [200, anyRead],
  "POST /api/reseller/auth/logout": [200, anyToken],
  "POST /api/reseller/auth/password": [
    200,
    { ...anyToken, ...anyBody, 422: ["validation_error"], 429: ["rate_limited"] }
  ],
  "GET /api/reseller/webhooks/endpoints": [200, anyToken],
  "POST /api/reseller/webhooks/endpoints": [
    201,
    { ...anyToken, ...anyBody, 409: ["too_many_endpoints"], 422: ["validation_error"] }
  ],
  "PATCH /api/reseller/webhooks/endpoints/{endpointID}": [
    200,
    { ...anyToken, ...anyBody, 404: ["endpoint_not_found"], 422: ["validation_error"] }
  ],
  "DELETE /api/reseller/webhooks/endpoints/{endpointID}": [200, { ...anyToken, 404: ["endpoint_not_found"] }],
  "POST /api/reseller/webhooks/endpoints/{endpointID}/secret": [201, { ...anyToken, 404: ["endpoint_not_found"] }],
  "POST /api/reseller/webhooks/endpoints/{endpointID}/test": [
    201,
    { ...anyToken, 404: ["endpoint_not_found"], 429: ["rate_limited"] }
  ],
  "GET /api/reseller/webhooks/deliveries": [200, { ...anyToken, 422: ["validation_error"] }],
  "POST /api/reseller/webhooks/deliveries/{deliveryID}/replay": [
    200,
    { ...anyToken, 404: ["delivery_not_found"], 429: ["rate_limited"] }
  ],
  "GET /qr/{orderID}.svg": [200, { 404: ["topup_not_found"], 500: ["internal_error"], 503: ["overloaded"] }],
  "POST /webhooks/payments/{provider}": [
    200,
    {
      ...anyBody,
      401: ["invalid_signature"],
      404: ["not_found"],
      500: ["internal_error"],
      503: ["overloaded", "provider_unavailable"]
    }
  ]
}

const bodies: DocumentedBodies = [
  ["POST /api/reseller/auth/signup", Signup],
  ["POST /api/reseller/auth/login", Login],
  ["POST /api/reseller/auth/password", PasswordChange],
  ["POST /api/reseller/topup", TopUpRequest],
  ["POST /api/reseller/mint", MintRequest],
  ["POST /api/reseller/customers", CustomerRequest],
  ["POST /api/reseller/customers/{userID}/keys", CustomerKeyRequest],
  ["PATCH /api/reseller/keys/{keyID}", ChangeKeyRequest],
  ["POST /api/reseller/webhooks/endpoints", EndpointRequest],
  ["PATCH /api/reseller/webhooks/endpoints/{endpointID}", EndpointChange]
]

describe("the OpenAPI document of the reseller routes", () => {
  it("has every reseller route", () => {
    expect([...routesOf(/^\/(api\/reseller|webhooks|qr)\b/)].sort()).toEqual(Object.keys(routes).sort())
  })

  it.each(Object.entries(routes))("has the responses and error codes of %s", (route, responses) =>
    expectResponses(
      route,
      responses,
      /signup|login|^GET \/qr|\/webhooks\/payments/.test(route) ? undefined : "resellerToken"
    )
  )

  it("describes the members of bodies", () => {
    expect(undescribedMembers(Object.keys(routes))).toEqual([])
  })

  it.each(bodies)("has valid examples of the body of %s", expectValidExamples)

  it("has the reseller token as a security scheme", () => {
    expect(securitySchemes).toHaveProperty("resellerToken.scheme", "bearer")
  })

  it("contains no schema with an internal name", () => {
    expect(
      Object.keys(schemas).filter((name) => /Trim|Lowercase|NonNeg|FromString|BigInt|Redacted/.test(name))
    ).toEqual([])
  })
})
