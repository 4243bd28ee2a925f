/**
 * Lists and resolves the image reviews (docs/reference/operator.md#image-reviews).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Reviews from "@tollgate/application/images/ImageReviews"
import { ImageReviews } from "@tollgate/application/images/ImageReviews"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import { listImageReviews } from "@tollgate/application/operator/OperatorLists"
import { operatorOf } from "@tollgate/application/operator/OperatorSessions"
import { ReviewNotFound } from "@tollgate/domain/images/ImageReview"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { ImageChargeRequest, RequiredReason } from "@tollgate/domain/operator/OperatorRequests"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { withOnly } from "../http/RouteServices.ts"
import { SmallBodies } from "../http/SmallBodies.ts"
import {
  digits,
  instant,
  instantOrNull,
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
import { amountField, PaygBody, requiredReason, toPayg } from "./RequestFields.ts"

const example = {
  request_id: "019a9f0e-8888-7d1a-9a41-6f1f0d7b2c11",
  user_id: "019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11",
  email: "customer@example.com",
  model: "demo-image",
  reason: "timeout" as const,
  queued_at: "2026-11-20T09:30:00.000Z",
  resolution: "charged" as const,
  charged_usd_micro: "40000",
  resolved_at: "2026-11-20T10:00:00.000Z",
  resolved_by: "ani",
  resolved_because: "the customer received the image"
}

const members = {
  request_id: uuid("The id of the image request.", example.request_id),
  user_id: uuid("The customer's id.", example.user_id),
  email: text("The customer's email.", example.email),
  model: text("The public name of the model.", example.model),
  reason: Schema.Literal("unmetered", "withheld", "timeout", "abandoned").annotations({
    description:
      "`unmetered`: delivered without reported usage. `withheld`: too large to deliver. `timeout`: not ready in time. " +
      "`abandoned`: the client disconnected or the node died."
  }),
  queued_at: timestamp("The time at which the review was queued.", example.queued_at),
  resolution: orNull(
    Schema.Literal("waived", "charged").annotations({ description: "The resolution; `null` while the review is open." })
  ),
  charged_usd_micro: orNull(
    digits("The charged amount in micro-USD; `null` unless the resolution is `charged`.", example.charged_usd_micro)
  ),
  resolved_at: orNull(timestamp("The time of the resolution, or `null`.", example.resolved_at)),
  resolved_by: orNull(text("The operator who resolved the review, or `null`.", example.resolved_by)),
  resolved_because: orNull(text("The reason of the resolution, or `null`.", example.resolved_because))
}

const ReviewBody = Schema.Struct(members).annotations({ identifier: "ImageReview", examples: [example] })

const ReviewPage = pageOf(ReviewBody, {
  identifier: "ImageReviewPage",
  description: "The reviews, oldest first.",
  example
})

const ChargedBody = Schema.Struct({ ...members, payg: PaygBody }).annotations({ identifier: "ChargedImageReview" })

const WaiveBody = Schema.Struct(
  { reason: requiredReason } satisfies MembersOf<typeof RequiredReason>,
  unknownMembers
).annotations({ identifier: "ImageWaiver", examples: [{ reason: "the image was black" }] })

const ChargeBody = Schema.Struct(
  { amount_usd_micro: amountField, reason: requiredReason } satisfies MembersOf<typeof ImageChargeRequest>,
  unknownMembers
).annotations({ identifier: "ImageCharge", examples: [{ amount_usd_micro: "40000", reason: "delivered by email" }] })

const PATH = "/api/operator/image-reviews"
const request = Schema.Struct({ requestID: members.request_id })

const readReviews = HttpApiEndpoint.get("listImageReviews", PATH)
  .setUrlParams(
    Schema.Struct({
      state: parameter({
        type: "string",
        enum: ["waiting", "all"],
        default: "waiting",
        description: "`waiting`: only open reviews. `all`: also resolved reviews."
      }),
      ...cursorParameters
    })
  )
  .addSuccess(ReviewPage)
  .annotateContext(documented({ summary: "List image reviews", errors: ["ValidationFailed"] }))

const waive = HttpApiEndpoint.post("waiveImage", `${PATH}/:requestID/waive`)
  .setPath(request)
  .setPayload(WaiveBody)
  .addSuccess(ReviewBody)
  .annotateContext(
    documented({
      summary: "Resolve a review without a charge",
      errors: [...bodyErrors, "ReviewNotFound", "ReviewResolved"]
    })
  )

const charge = HttpApiEndpoint.post("chargeImage", `${PATH}/:requestID/charge`)
  .setPath(request)
  .setPayload(ChargeBody)
  .addSuccess(ChargedBody)
  .annotateContext(
    documented({
      summary: "Charge an image request to the customer's pay-as-you-go balance, once",
      errors: [...bodyErrors, "InsufficientBalance", "ReviewNotFound", "ReviewResolved"]
    })
  )

export class OperatorImagesApi extends HttpApiGroup.make("operatorImages")
  .add(readReviews)
  .add(waive)
  .add(charge)
  .addError(OperatorError)
  .annotateContext(
    OpenApi.annotations({
      title: "Operator: image reviews",
      description: "The image requests that were not charged, and the decisions of operators about them."
    })
  ) {}

const toBody = ({ resolved, ...review }: Reviews.ImageReview): typeof ReviewBody.Type => ({
  request_id: review.requestId,
  user_id: review.userId,
  email: review.email,
  model: review.model,
  reason: review.reason,
  queued_at: instant(review.queuedAt),
  resolution: resolved === undefined ? null : resolved.resolution._tag === "Charged" ? "charged" : "waived",
  charged_usd_micro: resolved?.resolution._tag === "Charged" ? resolved.resolution.amount.toString() : null,
  resolved_at: instantOrNull(resolved?.at),
  resolved_by: resolved?.operator.actor ?? null,
  resolved_because: resolved?.operator.reason ?? null
})

const isUuid = Schema.is(Schema.UUID)
const readId = (id: string): Effect.Effect<RequestId, ReviewNotFound> =>
  isUuid(id) ? Effect.succeed(RequestId(id.toLowerCase())) : Effect.fail(new ReviewNotFound({ requestId: id }))

const waived = (requestId: string) =>
  forOperator((session) =>
    Effect.gen(function* () {
      const { reason } = yield* jsonBody(RequiredReason)
      const reviews = yield* Reviews.ImageReviews
      const operator = operatorOf(session, "images review waive", reason)
      return toBody(yield* reviews.resolve(yield* readId(requestId), { _tag: "Waived" }, operator))
    })
  )

const charged = (requestId: string) =>
  forOperator((session) =>
    Effect.gen(function* () {
      const { amount, reason } = yield* jsonBody(ImageChargeRequest)
      const reviews = yield* Reviews.ImageReviews
      const operator = operatorOf(session, "images review charge", reason)
      const review = yield* reviews.resolve(yield* readId(requestId), { _tag: "Charged", amount }, operator)
      const body: typeof ChargedBody.Type = { ...toBody(review), payg: toPayg(review.balancePico) }
      return body
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(OperatorImagesApi), "operatorImages", (handlers) =>
  handlers
    .handleRaw("listImageReviews", ({ urlParams }) => pageForOperator(urlParams, listImageReviews, toBody))
    .handleRaw("waiveImage", ({ path }) => waived(path.requestID))
    .handleRaw("chargeImage", ({ path }) => charged(path.requestID))
).pipe(withOnly(...operatorServices, CursorSealer, ImageReviews, SmallBodies))
