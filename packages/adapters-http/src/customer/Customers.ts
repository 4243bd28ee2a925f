/**
 * Lists a reseller's customers, finds or creates a customer by email, and creates, limits and revokes the API keys of
 * customers (docs/reference/reseller.md#customers-and-their-keys).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { CustomerKeys, createCustomerKey, revokeCustomerKey } from "@tollgate/application/customer/ApiKeys"
import { CustomerPolicy, Customers, resolveCustomer } from "@tollgate/application/customer/Customers"
import { changeCustomerKey, KeyLimitStore } from "@tollgate/application/customer/KeyLimits"
import { ChangeKeyRequest, CustomerKeyRequest, CustomerRequest } from "@tollgate/domain/customer/Customer"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { forReseller, resellerServices } from "../auth/ResellerCaller.ts"
import { withOnly } from "../http/RouteServices.ts"
import { SmallBodies } from "../http/SmallBodies.ts"
import { instant, type MembersOf, text, timestamp, unknownMembers, uuid } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { bodyErrors, documented, ResellerError } from "../openapi/ResellerDocs.ts"
import { jsonBody } from "../reseller/JsonBody.ts"
import { KeyLimitsBody, KeyLimitsChangeBody, LimitUsageBody, limitsBody, limitUsageBody } from "./KeyLimitsBody.ts"

const USER = "019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11"
const KEY = "019a9f0e-5555-7d1a-9a41-6f1f0d7b2c11"
const EMAIL = "customer@example.com"
const AT = "2026-11-20T09:30:00.000Z"

const userId = uuid("The customer's id.", USER)
const email = text("The customer's email, in lower case.", EMAIL)
const keyId = uuid("The key's id, which is not secret.", KEY)

const CustomerList = Schema.Struct({
  customers: Schema.Array(
    Schema.Struct({ user_id: userId, email }).annotations({
      identifier: "Customer",
      examples: [{ user_id: USER, email: EMAIL }]
    })
  ).annotations({ description: "The customers, ordered by email." })
}).annotations({ identifier: "CustomerList" })

const CustomerBody = Schema.Struct(
  {
    email: text("The customer's email; it is trimmed and converted to lower case.", EMAIL)
  } satisfies MembersOf<typeof CustomerRequest>,
  unknownMembers
).annotations({
  identifier: "CustomerRequest",
  examples: [{ email: EMAIL }]
})

const ResolvedCustomerBody = Schema.Struct({
  user_id: userId,
  email,
  created: Schema.Boolean.annotations({ description: "True if this request created the user." })
}).annotations({ identifier: "ResolvedCustomer", examples: [{ user_id: USER, email: EMAIL, created: true }] })

const CustomerKeyBody = Schema.Struct(
  {
    name: text("A name for the key: one line of 1 to 200 characters.", "laptop"),
    limits: Schema.optional(KeyLimitsChangeBody)
  } satisfies MembersOf<typeof CustomerKeyRequest>,
  unknownMembers
).annotations({
  identifier: "CustomerKeyRequest",
  examples: [{ name: "laptop" }, { name: "laptop", limits: { spend_usd_micro_per_day: 5_000_000 } }]
})

const CreatedKeyBody = Schema.Struct({
  key_id: keyId,
  name: text("The name of the key.", "laptop"),
  secret: text(
    "The API key. Only this response contains the key, because the service does not store it.",
    "tg_3vQx0sYb7HkLw2Zp_Q0mJ1sYb7HkLw2Zp3vQx0sYb7HkLw2Zp3vQx0sYb7HkLw2Zp3"
  ),
  limits: Schema.optional(KeyLimitsBody)
}).annotations({ identifier: "CreatedKey" })

const RevokedKeyBody = Schema.Struct({
  key_id: keyId,
  revoked: Schema.Literal(true).annotations({
    description: "Always true: inference requests with this key are refused."
  }),
  revoked_at: timestamp("The time of the first revocation.", AT)
}).annotations({
  identifier: "RevokedKey",
  examples: [{ key_id: KEY, revoked: true, revoked_at: AT }]
})

const readCustomers = HttpApiEndpoint.get("listCustomers", "/api/reseller/customers")
  .addSuccess(CustomerList)
  .annotateContext(documented({ summary: "List the reseller's customers", errors: [] }))

const findOrCreateCustomer = HttpApiEndpoint.post("resolveCustomer", "/api/reseller/customers")
  .setPayload(CustomerBody)
  .addSuccess(ResolvedCustomerBody)
  .annotateContext(
    documented({
      summary: "Find a user by email, or create the user",
      description:
        "A created user becomes a customer of the reseller. An existing user is returned too. A user who is not a customer " +
        "of the reseller yet becomes one only if the operator allows it, because a reseller can create keys that spend the " +
        "balances of its customers.",
      errors: bodyErrors
    })
  )

const createKey = HttpApiEndpoint.post("createCustomerKey", "/api/reseller/customers/:userID/keys")
  .setPath(Schema.Struct({ userID: userId }))
  .setPayload(CustomerKeyBody)
  .addSuccess(CreatedKeyBody, { status: 201 })
  .annotateContext(documented({ summary: "Create an API key for a customer", errors: [...bodyErrors, "NotFound"] }))

const ChangedKeyRequestBody = Schema.Struct(
  { limits: KeyLimitsChangeBody } satisfies MembersOf<typeof ChangeKeyRequest>,
  unknownMembers
).annotations({ identifier: "ChangeKeyRequest", examples: [{ limits: { requests_per_minute: 60, expires_at: null } }] })

const ChangedKeyBody = Schema.Struct({
  key_id: keyId,
  name: text("The name of the key.", "laptop"),
  limits: Schema.NullOr(KeyLimitsBody).annotations({ description: "The limits of the key; `null` if it has none." }),
  limit_usage: Schema.NullOr(LimitUsageBody).annotations({
    description:
      "The usage of the limits; `null` if the key has no budget, no rate limit and no limit of concurrent requests."
  })
}).annotations({ identifier: "ChangedKey" })

const changeKey = HttpApiEndpoint.patch("changeCustomerKey", "/api/reseller/keys/:keyID")
  .setPath(Schema.Struct({ keyID: keyId }))
  .setPayload(ChangedKeyRequestBody)
  .addSuccess(ChangedKeyBody)
  .annotateContext(
    documented({
      summary: "Change the limits of an API key of a customer",
      description:
        "An absent member of `limits` leaves the limit unchanged, and `null` removes it. Budgets, rate limits and the " +
        "limit of concurrent requests apply to the next request on every server.",
      errors: [...bodyErrors, "NotFound"]
    })
  )

const revokeKey = HttpApiEndpoint.del("revokeCustomerKey", "/api/reseller/keys/:keyID")
  .setPath(Schema.Struct({ keyID: keyId }))
  .addSuccess(RevokedKeyBody)
  .annotateContext(
    documented({
      summary: "Revoke an API key of a customer",
      description:
        "Every server refuses the next inference request with the key. A repeated revocation returns the same response.",
      errors: ["NotFound"]
    })
  )

export class CustomersApi extends HttpApiGroup.make("customers")
  .add(readCustomers)
  .add(findOrCreateCustomer)
  .add(createKey)
  .add(changeKey)
  .add(revokeKey)
  .addError(ResellerError)
  .annotateContext(
    OpenApi.annotations({
      title: "Reseller: customers and keys",
      description: "The reseller's customers and their API keys."
    })
  ) {}

const customerList = forReseller(({ id }) =>
  Effect.map(
    Effect.flatMap(Customers, ({ list }) => list(id)),
    (customers): typeof CustomerList.Type => ({
      customers: customers.map(({ userId, email }) => ({ user_id: userId, email }))
    })
  )
)

const resolvedCustomer = forReseller((reseller) =>
  Effect.gen(function* () {
    const request = yield* jsonBody(CustomerRequest)
    const { userId, email, created } = yield* resolveCustomer(reseller.id, request.email)
    const body: typeof ResolvedCustomerBody.Type = { user_id: userId, email, created }
    return body
  })
)

const createdKey = (userId: string) =>
  forReseller(
    (reseller) =>
      Effect.gen(function* () {
        const request = yield* jsonBody(CustomerKeyRequest)
        const { key, secret } = yield* createCustomerKey(reseller.id, userId, request.name, request.limits)
        const limits = limitsBody(key.limits)
        const body: typeof CreatedKeyBody.Type = {
          key_id: key.id,
          name: key.name,
          secret: Redacted.value(secret),
          ...(limits === null ? {} : { limits })
        }
        return body
      }),
    201
  )

const changedKey = (id: string) =>
  forReseller((reseller) =>
    Effect.gen(function* () {
      const { limits } = yield* jsonBody(ChangeKeyRequest)
      const { key, counts } = yield* changeCustomerKey(reseller.id, id, limits)
      const body: typeof ChangedKeyBody.Type = {
        key_id: key.id,
        name: key.name,
        limits: limitsBody(key.limits),
        limit_usage: limitUsageBody(key.limits, counts)
      }
      return body
    })
  )

const revokedKey = (id: string) =>
  forReseller((reseller) =>
    Effect.map(revokeCustomerKey(reseller.id, id), ({ keyId, revokedAt }): typeof RevokedKeyBody.Type => ({
      key_id: keyId,
      revoked: true,
      revoked_at: instant(revokedAt)
    }))
  )

export const layer = HttpApiBuilder.group(gateway.add(CustomersApi), "customers", (handlers) =>
  handlers
    .handleRaw("listCustomers", () => customerList)
    .handleRaw("resolveCustomer", () => resolvedCustomer)
    .handleRaw("createCustomerKey", ({ path: { userID } }) => createdKey(userID))
    .handleRaw("changeCustomerKey", ({ path: { keyID } }) => changedKey(keyID))
    .handleRaw("revokeCustomerKey", ({ path: { keyID } }) => revokedKey(keyID))
).pipe(withOnly(...resellerServices, CustomerKeys, CustomerPolicy, Customers, KeyLimitStore, SmallBodies))
