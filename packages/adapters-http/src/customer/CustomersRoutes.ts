/**
 * Customers of a reseller, and their API keys.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { createCustomerKey } from "@tollgate/application/customer/CreateCustomerKey"
import { listCustomers } from "@tollgate/application/customer/ListCustomers"
import { resolveCustomer } from "@tollgate/application/customer/ResolveCustomer"
import { revokeCustomerKey } from "@tollgate/application/customer/RevokeCustomerKey"
import { CustomerKeyRequest, CustomerRequest } from "@tollgate/domain/customer/Customer"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { forReseller } from "../auth/ResellerCaller.ts"
import { instant } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { jsonBody } from "../reseller/JsonBody.ts"
import {
  type CreatedKeyBody,
  type CustomerList,
  CustomersApi,
  type ResolvedCustomerBody,
  type RevokedKeyBody
} from "./CustomersApi.ts"

const customers = forReseller(({ id }) =>
  Effect.map(listCustomers(id), (all): typeof CustomerList.Type => ({
    customers: all.map(({ userId, email }) => ({ user_id: userId, email }))
  }))
)

const resolved = forReseller((reseller) =>
  Effect.gen(function* () {
    const { email: asked } = yield* jsonBody(CustomerRequest)
    const { userId, email, created } = yield* resolveCustomer(reseller.id, asked)
    const body: typeof ResolvedCustomerBody.Type = { user_id: userId, email, created }
    return body
  })
)

const createdKey = (userId: string) =>
  forReseller(
    (reseller) =>
      Effect.gen(function* () {
        const request = yield* jsonBody(CustomerKeyRequest)
        const { key, secret } = yield* createCustomerKey(reseller.id, userId, request.name)
        const body: typeof CreatedKeyBody.Type = { key_id: key.id, name: key.name, secret: Redacted.value(secret) }
        return body
      }),
    201
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
    .handleRaw("listCustomers", () => customers)
    .handleRaw("resolveCustomer", () => resolved)
    .handleRaw("createCustomerKey", ({ path: { userID } }) => createdKey(userID))
    .handleRaw("revokeCustomerKey", ({ path: { keyID } }) => revokedKey(keyID))
)
