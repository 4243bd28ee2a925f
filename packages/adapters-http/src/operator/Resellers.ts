/**
 * Lists, shows and reviews resellers, and adjusts their quota, for operators (docs/reference/operator.md#resellers).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { listResellers, type ResellersQuery } from "@tollgate/application/operator/OperatorLists"
import { operatorOf } from "@tollgate/application/operator/OperatorSessions"
import { Quota } from "@tollgate/application/reseller/Quota"
import { reviewReseller } from "@tollgate/application/reseller/ResellerAccess"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { QuotaRequest, ReviewRequest } from "@tollgate/domain/operator/OperatorRequests"
import { type Reseller, ResellerStatus } from "@tollgate/domain/reseller/Reseller"
import { ReviewMove } from "@tollgate/domain/reseller/Review"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import {
  digits,
  instant,
  type MembersOf,
  type ParametersOf,
  parameter,
  singleValues,
  text,
  timestamp,
  unknownMembers,
  uuid
} from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { cursorParameters, nextCursor } from "../openapi/ListDocs.ts"
import { bodyErrors, documented, OperatorError } from "../openapi/OperatorDocs.ts"
import { jsonBody } from "../reseller/JsonBody.ts"
import { forOperator } from "./OperatorCaller.ts"
import { operationIdField, optionalReason, requiredReason } from "./RequestFields.ts"

const example = {
  id: "019a9f0e-1c52-7d1a-9a41-6f1f0d7b2c11",
  email: "owner@tokotoken.example",
  name: "Toko Token",
  wa_number: "628123456789",
  status: "pending" as const,
  created_at: "2026-11-20T09:30:00.000Z"
}

const ResellerBody = Schema.Struct({
  id: uuid("The reseller's id.", example.id),
  email: text("The login email.", example.email),
  name: text("The display name.", example.name),
  wa_number: text("The WhatsApp number with the country code.", example.wa_number),
  status: ResellerStatus.annotations({ description: "The status of the reseller." }),
  created_at: timestamp("The time of the signup.", example.created_at)
}).annotations({ identifier: "OperatorReseller", examples: [example] })

const ResellerPage = Schema.Struct({
  data: Schema.Array(ResellerBody).annotations({ description: "The resellers, newest first." }),
  next_cursor: nextCursor
}).annotations({ identifier: "OperatorResellerPage", examples: [{ data: [example], next_cursor: null }] })

const ShownReseller = Schema.Struct({
  ...ResellerBody.fields,
  balance_usd_micro: digits("The remaining quota in micro-USD.", "25000000")
}).annotations({ identifier: "OperatorResellerWithQuota", examples: [{ ...example, balance_usd_micro: "25000000" }] })

const ReviewBody = Schema.Struct(
  {
    move: ReviewMove.annotations({
      description:
        "The decision: `approve` a pending or rejected reseller, `reject` a pending one, `suspend` an active one, or " +
        "`reactivate` a suspended one."
    }),
    reason: optionalReason
  } satisfies MembersOf<typeof ReviewRequest>,
  unknownMembers
).annotations({ identifier: "ResellerReview", examples: [{ move: "approve", reason: "documents checked" }] })

const adjustment = { amount_usd_micro: "-5000000", operation_id: "refund of order 7", reason: "refunded by transfer" }

const QuotaBody = Schema.Struct(
  {
    amount_usd_micro: Schema.String.annotations({
      jsonSchema: {
        type: "string",
        pattern: "^-?[0-9]+$",
        description: "The change in micro-USD; a negative change deducts quota, which never becomes negative.",
        examples: [adjustment.amount_usd_micro]
      }
    }),
    operation_id: operationIdField,
    reason: requiredReason
  } satisfies MembersOf<typeof QuotaRequest>,
  unknownMembers
).annotations({ identifier: "QuotaAdjustment", examples: [adjustment] })

const AdjustedBody = Schema.Struct({
  reseller_id: uuid("The reseller's id.", example.id),
  operation_id: text("The operation id of the request.", adjustment.operation_id),
  amount_usd_micro: Schema.String.annotations({
    jsonSchema: {
      type: "string",
      pattern: "^-?[0-9]+$",
      description: "The change that is booked.",
      examples: ["-5000000"]
    }
  }),
  already_applied: Schema.Boolean.annotations({
    description:
      "True if an earlier request with the operation id booked the change, so that this request changed nothing."
  }),
  balance_usd_micro: digits("The remaining quota in micro-USD.", "20000000")
}).annotations({ identifier: "AdjustedQuota" })

const PATH = "/api/operator/resellers"
const reseller = Schema.Struct({ reseller: text("The reseller's id or email.", example.id) })

const readResellers = HttpApiEndpoint.get("listResellersForOperator", PATH)
  .setUrlParams(
    Schema.Struct({
      status: parameter({
        type: "string",
        enum: [...ResellerStatus.literals],
        description: "Returns only resellers with this status."
      }),
      ...cursorParameters
    })
  )
  .addSuccess(ResellerPage)
  .annotateContext(documented({ summary: "List resellers", errors: ["ValidationFailed"] }))

const readReseller = HttpApiEndpoint.get("showReseller", `${PATH}/:reseller`)
  .setPath(reseller)
  .addSuccess(ShownReseller)
  .annotateContext(documented({ summary: "Show a reseller with its quota", errors: ["ResellerNotFound"] }))

const review = HttpApiEndpoint.post("reviewReseller", `${PATH}/:reseller/review`)
  .setPath(reseller)
  .setPayload(ReviewBody)
  .addSuccess(ResellerBody)
  .annotateContext(
    documented({
      summary: "Approve, reject, suspend or reactivate a reseller",
      description: "If the reseller already has the new status, nothing is changed.",
      errors: [...bodyErrors, "ResellerNotFound", "ReviewRefused"]
    })
  )

const adjustQuota = HttpApiEndpoint.post("adjustQuota", `${PATH}/:reseller/quota`)
  .setPath(reseller)
  .setPayload(QuotaBody)
  .addSuccess(AdjustedBody)
  .annotateContext(
    documented({
      summary: "Add or deduct quota, once per operation id",
      errors: [...bodyErrors, "ResellerNotFound", "InsufficientQuota", "AdjustmentConflict"]
    })
  )

export class OperatorResellersApi extends HttpApiGroup.make("operatorResellers")
  .add(readResellers)
  .add(readReseller)
  .add(review)
  .add(adjustQuota)
  .addError(OperatorError)
  .annotateContext(
    OpenApi.annotations({ title: "Operator: resellers", description: "Reviews of resellers, and their quota." })
  ) {}

const toBody = (reseller: Reseller): typeof ResellerBody.Type => ({
  id: reseller.id,
  email: reseller.email,
  name: reseller.name,
  wa_number: reseller.waNumber,
  status: reseller.status,
  created_at: instant(reseller.createdAt)
})

const resellerPage = (query: ParametersOf<ResellersQuery>) =>
  forOperator(() =>
    Effect.gen(function* () {
      const { items, nextCursor } = yield* listResellers(yield* singleValues(query))
      const body: typeof ResellerPage.Type = { data: items.map(toBody), next_cursor: nextCursor }
      return body
    })
  )

const shownReseller = (named: string) =>
  forOperator(() =>
    Effect.gen(function* () {
      const reseller = yield* (yield* Resellers).named(named)
      const balance = yield* (yield* Quota).balance(reseller.id)
      const body: typeof ShownReseller.Type = { ...toBody(reseller), balance_usd_micro: balance.toString() }
      return body
    })
  )

const reviewed = (named: string) =>
  forOperator((session) =>
    Effect.gen(function* () {
      const { move, reason } = yield* jsonBody(ReviewRequest)
      return toBody(yield* reviewReseller(named, move, operatorOf(session, `resellers ${move}`, reason)))
    })
  )

const adjusted = (named: string) =>
  forOperator((session) =>
    Effect.gen(function* () {
      const { change, operationId, reason } = yield* jsonBody(QuotaRequest)
      const { id } = yield* (yield* Resellers).named(named)
      const operator = operatorOf(session, "quota adjust", reason)
      const result = yield* (yield* Quota).adjust({ resellerId: id, change, operationId }, operator)
      const body: typeof AdjustedBody.Type = {
        reseller_id: id,
        operation_id: operationId,
        amount_usd_micro: result.change.toString(),
        already_applied: result.alreadyApplied,
        balance_usd_micro: result.balanceUsdMicro.toString()
      }
      return body
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(OperatorResellersApi), "operatorResellers", (handlers) =>
  handlers
    .handleRaw("listResellersForOperator", ({ urlParams }) => resellerPage(urlParams))
    .handleRaw("showReseller", ({ path }) => shownReseller(path.reseller))
    .handleRaw("reviewReseller", ({ path }) => reviewed(path.reseller))
    .handleRaw("adjustQuota", ({ path }) => adjusted(path.reseller))
)
