/**
 * Defines `tollgate images`, which lists and resolves the image requests that an operator must review.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { type ImageReview, ImageReviews } from "@tollgate/application/images/ImageReviews"
import { MAX_CHARGE } from "@tollgate/domain/images/ImageReview"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Report } from "../terminal/Output.ts"
import { timestamp } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { paygDocument, paygText, usdMicroOption } from "./Amounts.ts"
import { reportCommand } from "./ReportCommand.ts"
import { argument, flag, limit, operatorFor, reason } from "./SharedOptions.ts"

const usdMicro = usdMicroOption(MAX_CHARGE)

const Request = Schema.compose(Schema.Trim, Schema.Lowercase).pipe(
  Schema.filter((id) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) || "the UUID of an image request"),
  Schema.fromBrand(RequestId)
)
const request = argument("id", Request, "The image request's id.")

const all = flag("all", "Include the image requests that are already waived or charged.")

const list = reportCommand(
  "list",
  "List the image requests that wait for a review, oldest first.",
  { all, limit },
  ({ all, limit }) =>
    Effect.gen(function* () {
      const reviews = yield* Effect.flatMap(ImageReviews, ({ list }) =>
        list(all ? "all" : "waiting", { limit, after: undefined })
      )
      return {
        document: reviews.map(reviewDocument),
        text: reviews.length > 0 ? reviewsTable(reviews) : all ? "No reviews." : "No image request waits for a review."
      } satisfies Report
    })
)

const waive = reportCommand(
  "waive",
  "Resolve a review without charging the image request.",
  { request, reason: Options.optional(reason) },
  ({ reason, request }) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("images review waive", reason)
      const reviews = yield* ImageReviews
      const review = yield* reviews.resolve(request, { _tag: "Waived" }, operator)
      return {
        document: reviewDocument(review),
        text: `Waived the image request ${request} of ${review.email}; nothing was charged.`
      } satisfies Report
    })
)

const charge = reportCommand(
  "charge",
  "Charge the image request to the user's pay-as-you-go balance, once.",
  { request, usdMicro, reason: Options.optional(reason) },
  ({ reason, request, usdMicro }) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("images review charge", reason)
      const reviews = yield* ImageReviews
      const review = yield* reviews.resolve(request, { _tag: "Charged", amount: usdMicro }, operator)
      return {
        document: { ...reviewDocument(review), payg: paygDocument(review.balancePico) },
        text: `Charged ${usdMicro} micro-USD to ${review.email}; the balance is now ${paygText(review.balancePico)}.`
      } satisfies Report
    })
)

export const imageReview = Command.make("review").pipe(
  Command.withDescription("List and resolve the image requests that wait for a review."),
  Command.withSubcommands([list, waive, charge])
)

/** Defines `tollgate images`. The caller has already provided the ports of its `review` group. */
export const images = <Name extends string, R, E, A>(review: Command.Command<Name, R, E, A>) =>
  Command.make("images").pipe(Command.withDescription("Review image requests."), Command.withSubcommands([review]))

const resolutionOf = ({ resolved }: ImageReview) => resolved?.resolution._tag.toLowerCase()

const chargedOf = ({ resolved }: ImageReview) =>
  resolved?.resolution._tag === "Charged" ? resolved.resolution.amount.toString() : undefined

const reviewDocument = (review: ImageReview) => ({
  request_id: review.requestId,
  user_id: review.userId,
  email: review.email,
  model: review.model,
  reason: review.reason,
  queued_at: timestamp(review.queuedAt),
  resolution: resolutionOf(review) ?? null,
  charged_usd_micro: chargedOf(review) ?? null,
  resolved_at: review.resolved === undefined ? null : timestamp(review.resolved.at),
  resolved_by: review.resolved?.operator.actor ?? null,
  resolved_because: review.resolved?.operator.reason ?? null
})

const reviewsTable = (reviews: ReadonlyArray<ImageReview>): string =>
  table(
    [
      { heading: "queued at", cell: (review) => timestamp(review.queuedAt) },
      { heading: "request", cell: (review) => review.requestId },
      { heading: "user", cell: (review) => review.email },
      { heading: "model", cell: (review) => review.model },
      { heading: "reason", cell: (review) => review.reason },
      { heading: "resolution", cell: (review) => resolutionOf(review) ?? "-" },
      { heading: "micro-usd", cell: (review) => chargedOf(review) ?? "", align: "right" }
    ],
    reviews
  )
