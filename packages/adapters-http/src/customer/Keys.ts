/**
 * Lists the API keys of a reseller's customers (docs/reference/reseller.md#k1).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as useCases from "@tollgate/application/customer/KeyLists"
import { KeyLists } from "@tollgate/application/customer/KeyLists"
import type { Listed } from "@tollgate/application/operations/CursorSealer"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import type { ListedKey } from "@tollgate/domain/customer/ApiKey"
import type { CursorQuery } from "@tollgate/domain/validation/Cursor"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { forReseller, resellerServices } from "../auth/ResellerCaller.ts"
import { withOnly } from "../http/RouteServices.ts"
import { instant, type ParametersOf, singleValues, text, timestamp, uuid } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { cursorParameters, nextCursor } from "../openapi/ListDocs.ts"
import { documented, ResellerError } from "../openapi/ResellerDocs.ts"
import { KeyLimitsBody, limitsBody } from "./KeyLimitsBody.ts"

const example = {
  key_id: "019a9f0e-5555-7d1a-9a41-6f1f0d7b2c11",
  prefix: "tg_3vQx0sYb7HkLw2Zp",
  name: "laptop",
  user_id: "019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11",
  email: "customer@example.com",
  created_at: "2026-11-20T09:30:00.000Z",
  last_used_at: "2026-11-21T08:15:00.000Z",
  revoked_at: null,
  limits: null
}

const timestampOrNull = (description: string) =>
  Schema.NullOr(Schema.String).annotations({
    jsonSchema: { type: ["string", "null"], format: "date-time", description, examples: [example.last_used_at] }
  })

const userId = uuid("The id of the customer who owns the key.", example.user_id)

export const KeyBody = Schema.Struct({
  key_id: uuid("The key's id, which is not secret.", example.key_id),
  prefix: text("The first part of the API key, which is not secret.", example.prefix),
  name: text("The name of the key.", example.name),
  user_id: userId,
  email: text("The email of the customer who owns the key.", example.email),
  created_at: timestamp("The time at which the key was created.", example.created_at),
  last_used_at: timestampOrNull(
    "The time of the last known use, which can be up to two minutes before the last use; `null` if no use is known."
  ),
  revoked_at: timestampOrNull("The time of the revocation; `null` if the key is not revoked."),
  limits: Schema.NullOr(KeyLimitsBody).annotations({ description: "The limits of the key; `null` if it has none." })
}).annotations({ identifier: "ListedKey", examples: [example] })

export const KeyPageBody = Schema.Struct({
  data: Schema.Array(KeyBody).annotations({ description: "The keys, newest first, including revoked keys." }),
  next_cursor: nextCursor
}).annotations({ identifier: "KeyPage", examples: [{ data: [example], next_cursor: null }] })

const readKeys = HttpApiEndpoint.get("listKeys", "/api/reseller/keys")
  .setUrlParams(Schema.Struct(cursorParameters))
  .addSuccess(KeyPageBody)
  .annotateContext(
    documented({ summary: "List the API keys of the reseller's customers", errors: ["ValidationFailed"] })
  )

const readCustomerKeys = HttpApiEndpoint.get("listCustomerKeys", "/api/reseller/customers/:userID/keys")
  .setPath(Schema.Struct({ userID: userId }))
  .setUrlParams(Schema.Struct(cursorParameters))
  .addSuccess(KeyPageBody)
  .annotateContext(documented({ summary: "List the API keys of a customer", errors: ["NotFound", "ValidationFailed"] }))

export class KeysApi extends HttpApiGroup.make("keys")
  .add(readKeys)
  .add(readCustomerKeys)
  .addError(ResellerError)
  .annotateContext(
    OpenApi.annotations({
      title: "Reseller: customers and keys",
      description: "The reseller's customers and their API keys."
    })
  ) {}

const toBody = (key: ListedKey): typeof KeyBody.Type => ({
  key_id: key.id,
  prefix: key.prefix,
  name: key.name,
  user_id: key.userId,
  email: key.email,
  created_at: instant(key.createdAt),
  last_used_at: key.lastUsedAt === undefined ? null : instant(key.lastUsedAt),
  revoked_at: key.revokedAt === undefined ? null : instant(key.revokedAt),
  limits: limitsBody(key.limits)
})

export const toPage = ({ items, nextCursor }: Listed<ListedKey>): typeof KeyPageBody.Type => ({
  data: items.map(toBody),
  next_cursor: nextCursor
})

const keyPage = (query: ParametersOf<CursorQuery>) =>
  forReseller(({ id }) =>
    Effect.gen(function* () {
      return toPage(yield* useCases.listKeys(id, yield* singleValues(query)))
    })
  )

const customerKeyPage = (userId: string, query: ParametersOf<CursorQuery>) =>
  forReseller(({ id }) =>
    Effect.gen(function* () {
      return toPage(yield* useCases.listCustomerKeys(id, userId, yield* singleValues(query)))
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(KeysApi), "keys", (handlers) =>
  handlers
    .handleRaw("listKeys", ({ urlParams }) => keyPage(urlParams))
    .handleRaw("listCustomerKeys", ({ path: { userID }, urlParams }) => customerKeyPage(userID, urlParams))
).pipe(withOnly(...resellerServices, CursorSealer, KeyLists))
