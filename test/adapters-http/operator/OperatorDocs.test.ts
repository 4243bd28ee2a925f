import {
  BlacklistRequest,
  CatalogRequest,
  CreditRequest,
  CustomerRequest,
  ImageChargeRequest,
  KeyLimitsRequest,
  OptionalReason,
  QuotaRequest,
  RequiredReason,
  ReviewRequest
} from "@tollgate/domain/operator/OperatorRequests"
import { CodeRedemption } from "@tollgate/domain/operator/OperatorSession"
import { describe, expect, it } from "vitest"
import {
  type DocumentedBodies,
  type DocumentedRoutes,
  expectResponses,
  expectValidExamples
} from "../DocumentedRoutes.ts"
import { routesOf, undescribedMembers } from "../OpenApiDocument.ts"

const any = { 404: ["operator_console_off"], 429: ["rate_limited"], 500: ["internal_error"], 503: ["overloaded"] }
const anyToken = { ...any, 401: ["invalid_session"] }
const with404 = (...codes: ReadonlyArray<string>) => ({ ...anyToken, 404: ["operator_console_off", ...codes] })
const anyBody = { 413: ["request_too_large"], 422: ["validation_error"] }

const withCatalog = { ...anyToken, 413: ["request_too_large"], 422: ["validation_error", "catalog_file_invalid"] }

const routes: DocumentedRoutes = {
  "POST /api/operator/session": [201, { ...any, ...anyBody, 401: ["invalid_code"] }],
  "GET /api/operator/session": [200, anyToken],
  "DELETE /api/operator/session": [200, anyToken],
  "GET /api/operator/sessions": [200, anyToken],
  "POST /api/operator/sessions/{sessionID}/end": [200, { ...with404("session_not_found"), ...anyBody }],
  "GET /api/operator/resellers": [200, { ...anyToken, 422: ["validation_error"] }],
  "GET /api/operator/resellers/{reseller}": [200, with404("reseller_not_found")],
  "GET /api/operator/resellers/{reseller}/movements": [
    200,
    { ...with404("reseller_not_found"), 422: ["validation_error"] }
  ],
  "POST /api/operator/resellers/{reseller}/review": [
    200,
    { ...with404("reseller_not_found"), ...anyBody, 409: ["review_refused"] }
  ],
  "POST /api/operator/resellers/{reseller}/quota": [
    200,
    { ...with404("reseller_not_found"), ...anyBody, 402: ["insufficient_quota"], 409: ["operation_conflict"] }
  ],
  "GET /api/operator/topups": [200, { ...with404("reseller_not_found"), 422: ["validation_error"] }],
  "GET /api/operator/topups/{order}": [200, with404("topup_not_found")],
  "POST /api/operator/topups/{order}/refresh": [200, with404("topup_not_found")],
  "POST /api/operator/topups/refresh": [200, anyToken],
  "GET /api/operator/catalog": [200, anyToken],
  "POST /api/operator/catalog/preview": [200, withCatalog],
  "POST /api/operator/catalog/apply": [200, withCatalog],
  "GET /api/operator/customers": [200, { ...anyToken, 422: ["validation_error"] }],
  "GET /api/operator/customers/{customer}": [200, with404("user_not_found")],
  "POST /api/operator/customers": [201, { ...anyToken, ...anyBody, 409: ["user_exists"] }],
  "POST /api/operator/customers/{customer}/credit": [
    200,
    {
      ...with404("user_not_found"),
      ...anyBody,
      409: ["operation_conflict"],
      422: ["validation_error", "amount_out_of_range"]
    }
  ],
  "POST /api/operator/resellers/{reseller}/customers": [
    200,
    { ...with404("reseller_not_found", "user_not_found"), ...anyBody }
  ],
  "GET /api/operator/customers/{customer}/keys": [200, { ...with404("user_not_found"), 422: ["validation_error"] }],
  "GET /api/operator/resellers/{reseller}/keys": [200, { ...with404("reseller_not_found"), 422: ["validation_error"] }],
  "GET /api/operator/customers/{customer}/usage": [200, { ...with404("user_not_found"), 422: ["validation_error"] }],
  "GET /api/operator/customers/{customer}/usage/daily": [
    200,
    { ...with404("user_not_found"), 422: ["validation_error"] }
  ],
  "GET /api/operator/keys/{keyID}": [200, with404("key_not_found")],
  "PUT /api/operator/keys/{keyID}/limits": [200, { ...with404("key_not_found"), ...anyBody }],
  "POST /api/operator/keys/{keyID}/revoke": [200, { ...with404("key_not_found"), ...anyBody }],
  "GET /api/operator/blacklist": [200, { ...anyToken, 422: ["validation_error"] }],
  "POST /api/operator/blacklist": [200, { ...anyToken, ...anyBody }],
  "POST /api/operator/blacklist/remove": [200, { ...with404("pattern_not_listed"), ...anyBody }],
  "GET /api/operator/holds": [200, { ...anyToken, 422: ["validation_error"] }],
  "POST /api/operator/holds/sweep": [200, anyToken],
  "GET /api/operator/nodes": [200, { ...anyToken, 422: ["validation_error"] }],
  "GET /api/operator/providers": [200, anyToken],
  "POST /api/operator/doctor": [200, anyToken],
  "GET /api/operator/audit-log": [200, { ...anyToken, 422: ["validation_error"] }],
  "GET /api/operator/audit": [200, anyToken],
  "POST /api/operator/audit": [200, anyToken],
  "GET /api/operator/image-reviews": [200, { ...anyToken, 422: ["validation_error"] }],
  "POST /api/operator/image-reviews/{requestID}/waive": [
    200,
    { ...with404("review_not_found"), ...anyBody, 409: ["review_resolved"] }
  ],
  "POST /api/operator/image-reviews/{requestID}/charge": [
    200,
    { ...with404("review_not_found"), ...anyBody, 402: ["insufficient_balance"], 409: ["review_resolved"] }
  ]
}

const bodies: DocumentedBodies = [
  ["POST /api/operator/session", CodeRedemption],
  ["POST /api/operator/resellers/{reseller}/review", ReviewRequest],
  ["POST /api/operator/resellers/{reseller}/quota", QuotaRequest],
  ["POST /api/operator/catalog/apply", CatalogRequest],
  ["POST /api/operator/customers", CustomerRequest],
  ["POST /api/operator/customers/{customer}/credit", CreditRequest],
  ["POST /api/operator/resellers/{reseller}/customers", CustomerRequest],
  ["PUT /api/operator/keys/{keyID}/limits", KeyLimitsRequest],
  ["POST /api/operator/keys/{keyID}/revoke", OptionalReason],
  ["POST /api/operator/sessions/{sessionID}/end", OptionalReason],
  ["POST /api/operator/blacklist", BlacklistRequest],
  ["POST /api/operator/blacklist/remove", BlacklistRequest],
  ["POST /api/operator/image-reviews/{requestID}/waive", RequiredReason],
  ["POST /api/operator/image-reviews/{requestID}/charge", ImageChargeRequest]
]

describe("the OpenAPI document of the operator API", () => {
  it("has every route of the operator API", () => {
    expect([...routesOf(/^\/api\/operator\b/)].sort()).toEqual(Object.keys(routes).sort())
  })

  it.each(Object.entries(routes))("has the responses and error codes of %s", (route, responses) =>
    expectResponses(route, responses, route === "POST /api/operator/session" ? undefined : "operatorToken")
  )

  it("describes the members of bodies", () => {
    expect(undescribedMembers(Object.keys(routes))).toEqual([])
  })

  it.each(bodies)("has valid examples of the body of %s", expectValidExamples)
})
