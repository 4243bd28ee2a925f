/**
 * Lists and revokes API keys for operators (docs/reference/operator.md#customers-and-keys). A response never contains a
 * secret, so keys cannot be created here.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { listKeysOfReseller, listKeysOfUser } from "@tollgate/application/operator/OperatorLists"
import { operatorOf } from "@tollgate/application/operator/OperatorSessions"
import { ApiKeyId, ApiKeyNotFound } from "@tollgate/domain/customer/ApiKey"
import { OptionalReason } from "@tollgate/domain/operator/OperatorRequests"
import type { CursorQuery } from "@tollgate/domain/validation/Cursor"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { KeyPageBody, toPage } from "../customer/Keys.ts"
import {
  instant,
  type MembersOf,
  type ParametersOf,
  singleValues,
  text,
  timestamp,
  unknownMembers,
  uuid
} from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { cursorParameters } from "../openapi/ListDocs.ts"
import { bodyErrors, documented, OperatorError } from "../openapi/OperatorDocs.ts"
import { jsonBody } from "../reseller/JsonBody.ts"
import { forOperator } from "./OperatorCaller.ts"
import { optionalReason } from "./RequestFields.ts"

const KEY = "019a9f0e-5555-7d1a-9a41-6f1f0d7b2c11"
const AT = "2026-11-20T09:30:00.000Z"
const keyId = uuid("The key's id, which is not secret.", KEY)

const RevokeBody = Schema.Struct(
  { reason: optionalReason } satisfies MembersOf<typeof OptionalReason>,
  unknownMembers
).annotations({ identifier: "KeyRevocation", examples: [{ reason: "leaked" }] })

const RevokedBody = Schema.Struct({
  key_id: keyId,
  name: text("The name of the key.", "laptop"),
  revoked: Schema.Literal(true).annotations({ description: "Always true: requests with this key are refused." }),
  revoked_at: timestamp("The time of the first revocation.", AT)
}).annotations({
  identifier: "OperatorRevokedKey",
  examples: [{ key_id: KEY, name: "laptop", revoked: true, revoked_at: AT }]
})

const ofUser = HttpApiEndpoint.get("listKeysOfCustomer", "/api/operator/customers/:customer/keys")
  .setPath(Schema.Struct({ customer: text("The customer's id or email.", "customer@example.com") }))
  .setUrlParams(Schema.Struct(cursorParameters))
  .addSuccess(KeyPageBody)
  .annotateContext(
    documented({ summary: "List the API keys of a customer", errors: ["ValidationFailed", "UserNotFound"] })
  )

const ofReseller = HttpApiEndpoint.get("listKeysOfReseller", "/api/operator/resellers/:reseller/keys")
  .setPath(Schema.Struct({ reseller: text("The reseller's id or email.", "owner@tokotoken.example") }))
  .setUrlParams(Schema.Struct(cursorParameters))
  .addSuccess(KeyPageBody)
  .annotateContext(
    documented({
      summary: "List the API keys of a reseller's customers",
      errors: ["ValidationFailed", "ResellerNotFound"]
    })
  )

const revoke = HttpApiEndpoint.post("revokeKey", "/api/operator/keys/:keyID/revoke")
  .setPath(Schema.Struct({ keyID: keyId }))
  .setPayload(RevokeBody)
  .addSuccess(RevokedBody)
  .annotateContext(
    documented({
      summary: "Revoke an API key",
      description: "A repeated revocation returns the same response.",
      errors: [...bodyErrors, "ApiKeyNotFound"]
    })
  )

export class OperatorKeysApi extends HttpApiGroup.make("operatorKeys")
  .add(ofUser)
  .add(ofReseller)
  .add(revoke)
  .addError(OperatorError)
  .annotateContext(
    OpenApi.annotations({ title: "Operator: keys", description: "The API keys of all customers, without secrets." })
  ) {}

const keysOfUser = (named: string, query: ParametersOf<CursorQuery>) =>
  forOperator(() =>
    Effect.gen(function* () {
      return toPage(yield* listKeysOfUser(named, yield* singleValues(query)))
    })
  )

const keysOfReseller = (named: string, query: ParametersOf<CursorQuery>) =>
  forOperator(() =>
    Effect.gen(function* () {
      return toPage(yield* listKeysOfReseller(named, yield* singleValues(query)))
    })
  )

const isKeyId = Schema.is(ApiKeyId)

const revoked = (id: string) =>
  forOperator((session) =>
    Effect.gen(function* () {
      const { reason } = yield* jsonBody(OptionalReason)
      if (!isKeyId(id)) return yield* new ApiKeyNotFound({ keyId: id })
      const key = yield* (yield* ApiKeys).revoke(id, operatorOf(session, "keys revoke", reason))
      const body: typeof RevokedBody.Type = {
        key_id: key.id,
        name: key.name,
        revoked: true,
        revoked_at: instant(key.revokedAt ?? key.createdAt)
      }
      return body
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(OperatorKeysApi), "operatorKeys", (handlers) =>
  handlers
    .handleRaw("listKeysOfCustomer", ({ path, urlParams }) => keysOfUser(path.customer, urlParams))
    .handleRaw("listKeysOfReseller", ({ path, urlParams }) => keysOfReseller(path.reseller, urlParams))
    .handleRaw("revokeKey", ({ path }) => revoked(path.keyID))
)
