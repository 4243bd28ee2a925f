/**
 * Defines `tollgate topups`, which shows top-up orders and refreshes them from the payment providers.
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { refreshForOperator, showTopUpForOperator } from "@tollgate/application/operator/OperatorTopUps"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import * as OrderPayments from "@tollgate/application/topup/OrderPayments"
import type { PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import { refreshOpen } from "@tollgate/application/topup/RefreshDueOrders"
import { TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import { OrderId, orderIdNamed, TopUpStatus } from "@tollgate/domain/topup/TopUpOrder"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { CommandFailed } from "../exit/CommandFailed.ts"
import type { Report } from "../terminal/Output.ts"
import { reportCommand } from "./ReportCommand.ts"
import { argument, limit, oneOf, resellerOption } from "./SharedOptions.ts"
import { recoveryOver } from "./TopUpRecovery.ts"
import { topUpDocument, topUpFacts, topUpsTable } from "./TopUpView.ts"

/** The id of an order, or the order number that payers and payment providers see, which is `RTO-` and the id. */
const OrderName = Schema.String.pipe(
  Schema.filter((name) => Option.isSome(orderIdNamed(name)) || "an order's id, or its number RTO-..."),
  Schema.transform(Schema.typeSchema(OrderId), {
    strict: true,
    decode: (name) => Option.getOrThrow(orderIdNamed(name)),
    encode: (id) => id
  })
)
const order = argument("id", OrderName, "The order's id or its number, RTO-...")

const status = oneOf("status", TopUpStatus.literals, "List only orders with this status.")

const list = reportCommand(
  "list",
  "List top-up orders, newest first.",
  { reseller: Options.optional(resellerOption), status: Options.optional(status), limit },
  (given) =>
    Effect.gen(function* () {
      const resellers = yield* Resellers
      const of = Option.isSome(given.reseller) ? yield* resellers.named(given.reseller.value) : undefined
      const found = yield* Effect.flatMap(TopUpOrders, ({ search }) =>
        search({ resellerId: of?.id, status: Option.getOrUndefined(given.status), limit: given.limit })
      )
      return {
        document: found.map(topUpDocument),
        text: found.length === 0 ? "No orders found." : topUpsTable(found)
      } satisfies Report
    })
)

const show = reportCommand(
  "show",
  "Show an order as it is stored. The payment provider is not called.",
  { order },
  ({ order }) =>
    Effect.gen(function* () {
      const stored = yield* showTopUpForOperator(order)
      return { document: topUpDocument(stored), text: topUpFacts(stored) } satisfies Report
    })
)

/** Defines `topups reconcile`, which refreshes orders. */
const refreshOver = <R>(providers: Layer.Layer<PaymentProviders, CommandFailed, R>) =>
  reportCommand(
    "reconcile",
    "Refresh one order, or all open and all due orders, from the payment providers, and credit the paid orders.",
    { order: Args.optional(order) },
    ({ order }) =>
      (Option.isSome(order) ? refreshOne(order.value) : refreshAll).pipe(
        Effect.provide(OrderPayments.layer.pipe(Layer.provideMerge(providers)))
      )
  )

const refreshOne = (id: OrderId) =>
  Effect.gen(function* () {
    const { refreshed, stored } = yield* refreshForOperator(id)
    const shown = { document: topUpDocument(stored), text: topUpFacts(stored) }
    return refreshed ? shown : { ...shown, problem: notRefreshed(stored.order.provider) }
  })

/** Returns the problem to report if the order could not be refreshed. The stored order may then be out of date. */
const notRefreshed = (provider: string) => ({
  code: "provider_unavailable",
  message: `The order could not be refreshed from ${provider}; it is shown as it is stored. See: tollgate doctor`
})

const refreshAll = Effect.map(refreshOpen, ({ attempted, refreshed, credited, withoutProvider }): Report => {
  const failed = attempted - refreshed
  const failures = [
    ...(failed > 0 ? [`${failed} of ${attempted} orders could not be refreshed from their providers`] : []),
    ...(withoutProvider > 0
      ? [`the provider of ${withoutProvider} open orders is not configured in this environment`]
      : [])
  ]
  const shown: Report = {
    document: { looked: attempted, answered: refreshed, unanswered: failed, unasked: withoutProvider, credited },
    text:
      attempted + withoutProvider === 0
        ? "There are no orders to refresh."
        : `Refreshed ${refreshed} of ${attempted} orders, credited ${credited}.`
  }
  if (failures.length === 0) return shown
  const message = `${failures.join(", and ")}; these orders are unchanged. See: tollgate doctor`
  return { ...shown, problem: { code: "provider_unavailable", message } }
})

export const topUpsOver = <R>(providers: Layer.Layer<PaymentProviders, CommandFailed, R>) =>
  Command.make("topups").pipe(
    Command.withDescription("Show and reconcile the top-up orders of resellers."),
    Command.withSubcommands([list, show, refreshOver(providers), ...recoveryOver(providers)])
  )
