/**
 * Lists, shows and reviews resellers, and adjusts their quota, for operators (docs/reference/operator.md#resellers).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import { listQuotaMovements, listResellers } from "@tollgate/application/operator/OperatorLists"
import { operatorOf } from "@tollgate/application/operator/OperatorSessions"
import { Quota } from "@tollgate/application/reseller/Quota"
import { QuotaMovements } from "@tollgate/application/reseller/QuotaMovements"
import { reviewReseller } from "@tollgate/application/reseller/ResellerAccess"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { QuotaRequest, ReviewRequest } from "@tollgate/domain/operator/OperatorRequests"
import type { QuotaMovement } from "@tollgate/domain/reseller/QuotaMovement"
import { type Reseller, ResellerStatus } from "@tollgate/domain/reseller/Reseller"
import { ReviewMove } from "@tollgate/domain/reseller/Review"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { withOnly } from "../http/RouteServices.ts"
import { SmallBodies } from "../http/SmallBodies.ts"
import {
  digits,
  instant,
  type MembersOf,
  orNull,
  parameter,
  text,
  timestamp,
  unknownMembers,
  uuid
} from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { cursorParameters, pageOf } from "../openapi/ListDocs.ts"
import { bodyErrors, documented, OperatorError } from "../openapi/OperatorDocs.ts"
import { jsonBody } from "../reseller/JsonBody.ts"
import { forOperator, operatorServices, pageForOperator } from "./OperatorCaller.ts"
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

const ResellerPage = pageOf(ResellerBody, {
  identifier: "OperatorResellerPage",
  description: "The resellers, newest first.",
  example
})

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

/** Declares an amount that can be negative as a string of decimal digits. */
const signedDigits = (description: string, example: string) =>
  Schema.String.annotations({ jsonSchema: { type: "string", pattern: "^-?[0-9]+$", description, examples: [example] } })

const movement = {
  at: "2026-11-20T09:30:00.000Z",
  kind: "topup" as const,
  change_usd_micro: "25000000",
  reference: "RTO-019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"
}

const MovementBody = Schema.Struct({
  at: timestamp("The time of the movement.", movement.at),
  kind: Schema.Literal("topup", "mint", "adjustment").annotations({ description: "The cause of the movement." }),
  change_usd_micro: signedDigits("The change in micro-USD; negative if it removes quota.", movement.change_usd_micro),
  reference: orNull(
    text("The order number of a top-up, or the operation id of a mint; `null` for an adjustment.", movement.reference)
  )
}).annotations({ identifier: "QuotaMovement", examples: [movement] })

const MovementPage = pageOf(MovementBody, {
  identifier: "QuotaMovementPage",
  description: "The movements, newest first.",
  example: movement
})

const adjustment = { amount_usd_micro: "-5000000", operation_id: "refund of order 7", reason: "refunded by transfer" }

const QuotaBody = Schema.Struct(
  {
    amount_usd_micro: signedDigits(
      "The change in micro-USD; a negative change deducts quota, which never becomes negative.",
      adjustment.amount_usd_micro
    ),
    operation_id: operationIdField,
    reason: requiredReason
  } satisfies MembersOf<typeof QuotaRequest>,
  unknownMembers
).annotations({ identifier: "QuotaAdjustment", examples: [adjustment] })

const AdjustedBody = Schema.Struct({
  reseller_id: uuid("The reseller's id.", example.id),
  operation_id: text("The operation id of the request.", adjustment.operation_id),
  amount_usd_micro: signedDigits("The change that is booked.", "-5000000"),
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
      search: parameter({
        type: "string",
        minLength: 1,
        description: "Returns only resellers with this text in their name or email; at most 254 UTF-16 code units."
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

const readMovements = HttpApiEndpoint.get("listQuotaMovements", `${PATH}/:reseller/movements`)
  .setPath(reseller)
  .setUrlParams(Schema.Struct(cursorParameters))
  .addSuccess(MovementPage)
  .annotateContext(
    documented({
      summary: "List the movements of a reseller's quota",
      errors: ["ValidationFailed", "ResellerNotFound"]
    })
  )

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
  .add(readMovements)
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

const toMovement = ({ at, changeUsdMicro, kind, reference }: QuotaMovement): typeof MovementBody.Type => ({
  at: instant(at),
  kind,
  change_usd_micro: changeUsdMicro.toString(),
  reference: reference ?? null
})

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
    .handleRaw("listResellersForOperator", ({ urlParams }) => pageForOperator(urlParams, listResellers, toBody))
    .handleRaw("showReseller", ({ path }) => shownReseller(path.reseller))
    .handleRaw("listQuotaMovements", ({ path, urlParams }) =>
      pageForOperator(urlParams, (query) => listQuotaMovements(path.reseller, query), toMovement)
    )
    .handleRaw("reviewReseller", ({ path }) => reviewed(path.reseller))
    .handleRaw("adjustQuota", ({ path }) => adjusted(path.reseller))
).pipe(withOnly(...operatorServices, CursorSealer, Quota, QuotaMovements, Resellers, SmallBodies))
