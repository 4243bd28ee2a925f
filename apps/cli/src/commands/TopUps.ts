/**
 * `tollgate topups`: orders for quota, and asking the providers about them by hand.
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import type { PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import * as PaymentRefresher from "@tollgate/application/topup/PaymentRefresher"
import { TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import { refreshOpenTopUps } from "@tollgate/application/topup/TopUpRefresh"
import { refreshTopUpForOperator } from "@tollgate/application/topup/TopUps"
import { OrderId, TopUpNotFound, TopUpStatus } from "@tollgate/domain/topup/TopUpOrder"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { CommandFailed } from "../runtime/CommandFailed.ts"
import type { Answer } from "../terminal/Output.ts"
import { answering } from "./AnsweringCommand.ts"
import { argument, limit, oneOf, reseller } from "./SharedOptions.ts"
import { topUpDocument, topUpFacts, topUpsTable } from "./TopUpView.ts"

const idIn = (name: string): string => name.trim().toLowerCase().replace(/^rto-/, "")
const isOrderId = Schema.is(OrderId)

/** As an id, or as the number that payers and providers see. */
const OrderName = Schema.String.pipe(
  Schema.filter((name) => isOrderId(idIn(name)) || "an order's id, or its number RTO-..."),
  Schema.transform(Schema.typeSchema(OrderId), {
    strict: true,
    decode: (name) => OrderId.make(idIn(name)),
    encode: (id) => id
  })
)
const order = argument("id", OrderName, "The order's id or its number, RTO-...")

const status = oneOf("status", TopUpStatus.literals, "Only those of this status.")

const list = answering(
  "list",
  "List orders for quota, newest first.",
  { reseller: Options.optional(reseller), status: Options.optional(status), limit },
  (given) =>
    Effect.gen(function* () {
      const resellers = yield* Resellers
      const of = Option.isSome(given.reseller) ? yield* resellers.named(given.reseller.value) : undefined
      const found = yield* Effect.flatMap(TopUpOrders, ({ search }) =>
        search({ resellerId: of?.id, status: Option.getOrUndefined(given.status), limit: given.limit })
      )
      return {
        document: found.map(topUpDocument),
        text: found.length === 0 ? "No such orders." : topUpsTable(found)
      } satisfies Answer
    })
)

const show = answering("show", "Show an order as it is stored, without asking its provider.", { order }, ({ order }) =>
  Effect.gen(function* () {
    const found = yield* Effect.flatMap(TopUpOrders, ({ find }) => find(order))
    if (Option.isNone(found)) return yield* new TopUpNotFound()
    return { document: topUpDocument(found.value), text: topUpFacts(found.value) } satisfies Answer
  })
)

/** Speaks to providers, whose settings no other command needs. */
const reconcileOver = <R>(providers: Layer.Layer<PaymentProviders, CommandFailed, R>) =>
  answering(
    "reconcile",
    "Ask the provider of an order, or those of all open orders, and credit what is paid.",
    { order: Args.optional(order) },
    ({ order }) =>
      (Option.isSome(order) ? reconcileOne(order.value) : reconcileAll).pipe(
        Effect.provide(PaymentRefresher.layer.pipe(Layer.provideMerge(providers)))
      )
  )

const reconcileOne = (id: OrderId) =>
  Effect.gen(function* () {
    const { find } = yield* TopUpOrders
    const { refreshed } = yield* refreshTopUpForOperator(id)
    const now = yield* find(id)
    if (Option.isNone(now)) return yield* new TopUpNotFound()
    const shown = { document: topUpDocument(now.value), text: topUpFacts(now.value) }
    return refreshed ? shown : { ...shown, trouble: notAsked(now.value.order.provider) }
  })

/** The order stands as it was stored, which says nothing of what was paid since. */
const notAsked = (provider: string) => ({
  code: "provider_unavailable",
  message: `${provider} gave no answer; the order is shown as it is stored. See: tollgate doctor`
})

const reconcileAll = Effect.map(refreshOpenTopUps, ({ attempted, refreshed, credited, withoutProvider }): Answer => {
  const unanswered = attempted - refreshed
  const silent = [
    ...(unanswered > 0 ? [`for ${unanswered} of ${attempted} orders no provider gave an answer`] : []),
    ...(withoutProvider > 0 ? [`of ${withoutProvider} open orders the provider is not set up here`] : [])
  ]
  const shown: Answer = {
    document: { looked: attempted, answered: refreshed, unanswered, unasked: withoutProvider, credited },
    text:
      attempted + withoutProvider === 0
        ? "No order is open."
        : `Looked at ${attempted}, ${refreshed} answered, credited ${credited}.`
  }
  if (silent.length === 0) return shown
  const message = `${silent.join(", and ")}; they stand as they are stored. See: tollgate doctor`
  return { ...shown, trouble: { code: "provider_unavailable", message } }
})

export const topUpsOver = <R>(providers: Layer.Layer<PaymentProviders, CommandFailed, R>) =>
  Command.make("topups").pipe(
    Command.withDescription("Top-ups: resellers' orders for quota, and what became of them."),
    Command.withSubcommands([list, show, reconcileOver(providers)])
  )
