/**
 * Customers of a reseller, and their API keys (spec: Reseller: customers and keys).
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import type { CustomerKeyRequest, CustomerRequest } from "@tollgate/domain/customer/Customer"
import * as Schema from "effect/Schema"
import { type MembersOf, text, timestamp, unknownMembers, uuid } from "../openapi/Fields.ts"
import { documented, ofBodies, ResellerError } from "../openapi/ResellerDocs.ts"

const USER = "019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11"
const KEY = "019a9f0e-5555-7d1a-9a41-6f1f0d7b2c11"
const EMAIL = "customer@example.com"

const userId = uuid("The customer's id.", USER)
const email = text("The customer's email, in lower case.", EMAIL)
const keyId = uuid("The key's id; not a secret.", KEY)

export const CustomerList = Schema.Struct({
  customers: Schema.Array(
    Schema.Struct({ user_id: userId, email }).annotations({
      identifier: "Customer",
      examples: [{ user_id: USER, email: EMAIL }]
    })
  ).annotations({ description: "By email." })
}).annotations({ identifier: "CustomerList" })

export const ResolvedCustomerBody = Schema.Struct({
  user_id: userId,
  email,
  created: Schema.Boolean.annotations({ description: "Whether the user was made by this request." })
}).annotations({ identifier: "ResolvedCustomer", examples: [{ user_id: USER, email: EMAIL, created: true }] })

export const CreatedKeyBody = Schema.Struct({
  key_id: keyId,
  name: text("What it was named.", "laptop"),
  secret: text(
    "The whole key. Told this once, and never stored.",
    "tg_3vQx0sYb7HkLw2Zp_Q0mJ1sYb7HkLw2Zp3vQx0sYb7HkLw2Zp3vQx0sYb7HkLw2Zp3"
  )
}).annotations({ identifier: "CreatedKey" })

export const RevokedKeyBody = Schema.Struct({
  key_id: keyId,
  revoked: Schema.Literal(true).annotations({ description: "The key opens nothing any more, from now on." }),
  revoked_at: timestamp("When it was revoked first.", "2026-11-20T09:30:00.000Z")
}).annotations({
  identifier: "RevokedKey",
  examples: [{ key_id: KEY, revoked: true, revoked_at: "2026-11-20T09:30:00.000Z" }]
})

const CustomerBody = Schema.Struct({ email } satisfies MembersOf<typeof CustomerRequest>, unknownMembers).annotations({
  identifier: "CustomerRequest",
  examples: [{ email: EMAIL }]
})

const CustomerKeyBody = Schema.Struct(
  {
    name: text("What to call the key; 1 to 200 characters on one line.", "laptop")
  } satisfies MembersOf<typeof CustomerKeyRequest>,
  unknownMembers
).annotations({ identifier: "CustomerKeyRequest", examples: [{ name: "laptop" }] })

const listCustomers = HttpApiEndpoint.get("listCustomers", "/api/reseller/customers")
  .addSuccess(CustomerList)
  .annotateContext(documented({ summary: "The customers of the reseller", errors: [] }))

const resolveCustomer = HttpApiEndpoint.post("resolveCustomer", "/api/reseller/customers")
  .setPayload(CustomerBody)
  .addSuccess(ResolvedCustomerBody)
  .annotateContext(
    documented({
      summary: "Find a user by email, or make one",
      description:
        "A user that is made becomes a customer of the reseller. One that was there already is told, and becomes a " +
        "customer only where the operator allows it: a customer's reseller can make keys that spend the customer's balance.",
      errors: ofBodies
    })
  )

const createKey = HttpApiEndpoint.post("createCustomerKey", "/api/reseller/customers/:userID/keys")
  .setPath(Schema.Struct({ userID: userId }))
  .setPayload(CustomerKeyBody)
  .addSuccess(CreatedKeyBody, { status: 201 })
  .annotateContext(documented({ summary: "Make an API key for a customer", errors: [...ofBodies, "NotFound"] }))

const revokeKey = HttpApiEndpoint.del("revokeCustomerKey", "/api/reseller/keys/:keyID")
  .setPath(Schema.Struct({ keyID: keyId }))
  .addSuccess(RevokedKeyBody)
  .annotateContext(
    documented({
      summary: "End an API key of a customer",
      description: "From the next request on, on every server. Again: the same answer.",
      errors: ["NotFound"]
    })
  )

export class CustomersApi extends HttpApiGroup.make("customers")
  .add(listCustomers)
  .add(resolveCustomer)
  .add(createKey)
  .add(revokeKey)
  .addError(ResellerError)
  .annotateContext(OpenApi.annotations({ title: "Reseller: customers and keys" })) {}
