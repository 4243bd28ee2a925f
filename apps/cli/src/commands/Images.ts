/**
 * `tollgate images`: image requests that a person has to look at.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { type ImageReview, ImageReviews } from "@tollgate/application/images/ImageReviews"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { operatorFor } from "../runtime/Actor.ts"
import { timestamp } from "../terminal/JsonDocument.ts"
import type { Answer } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { answering } from "./AnsweringCommand.ts"
import { paygDocument, paygText } from "./PaygBalance.ts"
import { argument, limit, option, reason } from "./SharedOptions.ts"

/** A thousand USD; more for one image is a slip of the keyboard. */
const MOST = 1_000_000_000n

const Amount = Schema.String.pipe(
  Schema.filter((text) => /^[0-9]{1,30}$/.test(text) || "digits only, in micro-USD: 1000000 is one USD"),
  Schema.compose(Schema.BigInt),
  Schema.filter((amount) => (amount > 0n && amount <= MOST) || `1 to ${MOST}, in micro-USD: 1000000 is one USD`)
)
const usdMicro = option("usd-micro", "N", Amount, "How much, in micro-USD: 1000000 is one USD.")

const Request = Schema.compose(Schema.Trim, Schema.Lowercase).pipe(
  Schema.filter((id) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) || "the id of an image request"),
  Schema.fromBrand(RequestId)
)
const request = argument("id", Request, "The id of the image request.")

const all = Options.boolean("all").pipe(Options.withDescription("Those that are resolved, too."))

const list = answering(
  "list",
  "List image requests that wait for a person, oldest first.",
  { all, limit },
  ({ all, limit }) =>
    Effect.gen(function* () {
      const reviews = yield* Effect.flatMap(ImageReviews, ({ list }) => list(all ? "all" : "waiting", limit))
      return {
        document: reviews.map(reviewDocument),
        text: reviews.length > 0 ? reviewsTable(reviews) : all ? "No reviews." : "No image request waits for a review."
      } satisfies Answer
    })
)

const waive = answering(
  "waive",
  "Let an image request go: nobody is charged for it.",
  { request, reason },
  ({ reason, request }) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("images review waive", Option.some(reason))
      const reviews = yield* ImageReviews
      const review = yield* reviews.resolve(request, { _tag: "Waived" }, operator)
      return {
        document: reviewDocument(review),
        text: `Waived the image request ${request} of ${review.email}; nothing was charged.`
      } satisfies Answer
    })
)

const charge = answering(
  "charge",
  "Charge an image request to its user's pay-as-you-go balance, once.",
  { request, usdMicro, reason },
  ({ reason, request, usdMicro }) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("images review charge", Option.some(reason))
      const reviews = yield* ImageReviews
      const review = yield* reviews.resolve(request, { _tag: "Charged", amount: UsdMicro(usdMicro) }, operator)
      return {
        document: { ...reviewDocument(review), payg: paygDocument(review.balancePico) },
        text: `Charged ${usdMicro} micro-USD to ${review.email}, who now has ${paygText(review.balancePico)}.`
      } satisfies Answer
    })
)

export const imageReview = Command.make("review").pipe(
  Command.withDescription("The queue of image requests that a person looks at."),
  Command.withSubcommands([list, waive, charge])
)

/** A group that holds a group, which is given what it needs where it stands. */
export const images = <Name extends string, R, E, A>(review: Command.Command<Name, R, E, A>) =>
  Command.make("images").pipe(Command.withDescription("Image requests."), Command.withSubcommands([review]))

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
