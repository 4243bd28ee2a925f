/**
 * Lists, shows, limits and revokes API keys for operators (docs/reference/operator.md#customers-and-keys). These routes
 * cannot create keys, because their responses must not contain secrets.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { KeyLimitStore, type KeyStatus, readKeyStatus, setKeyLimits } from "@tollgate/application/customer/KeyLimits"
import { KeyLists } from "@tollgate/application/customer/KeyLists"
import { Users } from "@tollgate/application/customer/Users"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import { listKeysOfReseller, listKeysOfUser } from "@tollgate/application/operator/OperatorLists"
import { operatorOf } from "@tollgate/application/operator/OperatorSessions"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { ApiKeyId, ApiKeyNotFound } from "@tollgate/domain/customer/ApiKey"
import { KeyLimitsRequest, OptionalReason } from "@tollgate/domain/operator/OperatorRequests"
import type { CursorQuery } from "@tollgate/domain/validation/Cursor"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import {
  KeyLimitsBody,
  KeyLimitsChangeBody,
  LimitUsageBody,
  limitsBody,
  limitUsageBody
} from "../customer/KeyLimitsBody.ts"
import { KeyBody, KeyPageBody, toPage } from "../customer/Keys.ts"
import { withOnly } from "../http/RouteServices.ts"
import { SmallBodies } from "../http/SmallBodies.ts"
import {
  instant,
  instantOrNull,
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
import { forOperator, operatorServices } from "./OperatorCaller.ts"
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

const LimitsBody = Schema.Struct(
  {
    limits: KeyLimitsChangeBody.annotations({
      identifier: "KeyLimitsToSet",
      description:
        "All limits of the key. An absent member or `null` means that there is no such limit. Other members are refused."
    }),
    reason: optionalReason
  } satisfies MembersOf<typeof KeyLimitsRequest>,
  unknownMembers
).annotations({
  identifier: "KeyLimitsRequest",
  examples: [{ limits: { spend_usd_micro_per_day: 5_000_000, models: ["demo-chat"] }, reason: "agreed by email" }]
})

const StatusBody = Schema.Struct({
  key_id: keyId,
  name: text("The name of the key.", "laptop"),
  user_id: KeyBody.fields.user_id,
  created_at: KeyBody.fields.created_at,
  revoked_at: KeyBody.fields.revoked_at,
  limits: Schema.NullOr(KeyLimitsBody).annotations({ description: "The limits of the key; `null` if it has none." }),
  limit_usage: Schema.NullOr(LimitUsageBody).annotations({
    description:
      "The usage of the limits; `null` if the key has no budget, no rate limit and no limit of concurrent requests."
  })
}).annotations({ identifier: "OperatorKey" })

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

const readKey = HttpApiEndpoint.get("showKey", "/api/operator/keys/:keyID")
  .setPath(Schema.Struct({ keyID: keyId }))
  .addSuccess(StatusBody)
  .annotateContext(documented({ summary: "Show an API key with its limits", errors: ["ApiKeyNotFound"] }))

const putLimits = HttpApiEndpoint.put("setKeyLimits", "/api/operator/keys/:keyID/limits")
  .setPath(Schema.Struct({ keyID: keyId }))
  .setPayload(LimitsBody)
  .addSuccess(StatusBody)
  .annotateContext(
    documented({
      summary: "Set all limits of an API key",
      description:
        "Replaces the limits of the key. Budgets, rate limits and the limit of concurrent requests apply to the next " +
        "request on every server.",
      errors: [...bodyErrors, "ApiKeyNotFound"]
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
  .add(readKey)
  .add(putLimits)
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

const toStatus = ({ counts, key }: KeyStatus): typeof StatusBody.Type => ({
  key_id: key.id,
  name: key.name,
  user_id: key.userId,
  created_at: instant(key.createdAt),
  revoked_at: instantOrNull(key.revokedAt),
  limits: limitsBody(key.limits),
  limit_usage: limitUsageBody(key.limits, counts)
})

const shown = (id: string) => forOperator(() => Effect.map(readKeyStatus(id), toStatus))

const limited = (id: string) =>
  forOperator((session) =>
    Effect.gen(function* () {
      const { limits, reason } = yield* jsonBody(KeyLimitsRequest)
      return toStatus(yield* setKeyLimits(id, limits, operatorOf(session, "keys limits", reason)))
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
    .handleRaw("showKey", ({ path }) => shown(path.keyID))
    .handleRaw("setKeyLimits", ({ path }) => limited(path.keyID))
    .handleRaw("revokeKey", ({ path }) => revoked(path.keyID))
).pipe(withOnly(...operatorServices, ApiKeys, CursorSealer, KeyLimitStore, KeyLists, Resellers, SmallBodies, Users))
