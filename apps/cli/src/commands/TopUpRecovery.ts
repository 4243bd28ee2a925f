/**
 * Defines the `tollgate topups` commands for the time after a restore of the database (docs/backup.md): `unknown`,
 * `skip-addresses` and `deposits`.
 */
import * as Options from "@effect/cli/Options"
import { PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import { type StoredState, TopUpRecovery } from "@tollgate/application/topup/TopUpRecovery"
import { floorToUsdMicro } from "@tollgate/domain/money/TokenRaw"
import { type OrderId, orderIdOf, orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { CommandFailed } from "../exit/CommandFailed.ts"
import type { Report } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { quotaText } from "./Amounts.ts"
import { readExport } from "./CatalogFileText.ts"
import { reportCommand } from "./ReportCommand.ts"
import { operatorFor, option, reason } from "./SharedOptions.ts"

const ORDER_NUMBER = /RTO-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi
/** The number of orders that one statement reads. */
const BATCH_SIZE = 1_000
/** The maximum number of characters of a line before and after the order number. An export can be one long line. */
const MAX_AROUND_NUMBER = 300

interface Listed {
  readonly id: OrderId
  /** The line of the export that contains the order number. Of a long line, the part around the order number. */
  readonly line: string
  readonly state: StoredState | "unknown"
}

/** Returns whether no operator has to act on the order: it is credited, or a refresh credits it when it is paid. */
const isHandled = ({ state }: Listed): boolean => state === "credited" || state === "pending" || state === "crediting"

const unknown = reportCommand(
  "unknown",
  "Read the transactions that a payment provider exports, and list the orders that are not in the database, or that the servers will not credit.",
  {
    export: Options.text("export").pipe(
      Options.withPseudoName("FILE"),
      Options.withDescription(
        "An export of the payment provider, such as CSV. Every order number RTO-... in it is checked."
      )
    )
  },
  (given) =>
    Effect.gen(function* () {
      const lines = linesOf(yield* readExport(given.export))
      const states = yield* statesOf([...lines.keys()])
      if (lines.size === 0) return noOrderNumber
      const all = [...lines].map(([id, line]): Listed => ({ id, line, state: states.get(id) ?? "unknown" }))
      const shown = all.filter((listed) => !isHandled(listed))
      const report: Report = {
        document: {
          order_numbers: all.length,
          orders: shown.map(({ id, line, state }) => ({ order_number: orderNumberOf(id), state, line }))
        },
        text:
          shown.length === 0
            ? `All ${all.length} orders of the export are in the database. The servers credit them when they are paid.`
            : table(
                [
                  { heading: "state", cell: ({ state }) => state },
                  { heading: "line of the export", cell: ({ line }) => line }
                ],
                shown
              )
      }
      if (shown.length === 0) return report
      const message =
        `${shown.length} of ${all.length} orders of the export need an action. If such an order is paid ` +
        "and its state is expired or failed, run: tollgate topups reconcile ID. If an order with another state is paid, " +
        "credit it with tollgate quota adjust, and use the order number as the operation id."
      return { ...report, problem: { code: "unknown_orders", message } }
    })
)

const noOrderNumber: Report = {
  document: { order_numbers: 0, orders: [] },
  text: "The export contains no order number RTO-... If it lists transactions, export the column with the order number too."
}

/** Returns the first line that contains each order number. */
const linesOf = (text: string): ReadonlyMap<OrderId, string> => {
  const lines = new Map<OrderId, string>()
  for (const line of text.split(/\r?\n/)) {
    for (const { 0: number, index } of line.matchAll(ORDER_NUMBER)) {
      const id = orderIdOf(`RTO-${number.slice("RTO-".length)}`)
      if (Option.isNone(id) || lines.has(id.value)) continue
      const from = Math.max(0, index - MAX_AROUND_NUMBER)
      lines.set(id.value, line.slice(from, index + number.length + MAX_AROUND_NUMBER))
    }
  }
  return lines
}

const statesOf = (ids: ReadonlyArray<OrderId>) =>
  Effect.gen(function* () {
    const recovery = yield* TopUpRecovery
    const states = new Map<OrderId, StoredState>()
    for (let i = 0; i < ids.length; i += BATCH_SIZE) {
      for (const [id, state] of yield* recovery.states(ids.slice(i, i + BATCH_SIZE))) states.set(id, state)
    }
    return states
  })

const whole = (min: number, max: number) =>
  Schema.String.pipe(
    Schema.filter(
      (text) =>
        (/^\d{1,10}$/.test(text) && Number(text) >= min && Number(text) <= max) ||
        `a whole number from ${min} to ${max}`
    ),
    Schema.compose(Schema.NumberFromString)
  )
const MAX_SKIPPED = 1_000_000
const MAX_SCANNED = 10_000

const skipAddresses = reportCommand(
  "skip-addresses",
  "Use up deposit addresses of crypto_bep20, so that no new order gets an address that was given out before a restore.",
  {
    count: option(
      "count",
      "N",
      whole(1, MAX_SKIPPED),
      "Number of addresses. It must be larger than the number of orders that were created since the restored time."
    ),
    reason
  },
  (given) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("topups skip-addresses", Option.some(given.reason))
      const { first, last } = yield* Effect.flatMap(TopUpRecovery, (recovery) =>
        recovery.skipDepositIndexes(given.count, operator)
      )
      return {
        document: { first_index: first, last_index: last },
        text:
          `No new order will get a deposit address with an index from ${first} to ${last}. Read their balances with: ` +
          `tollgate topups deposits --from ${first} --to ${last}`
      } satisfies Report
    })
)

const index = (name: string, description: string) => option(name, "N", whole(0, 2 ** 31 - 1), description)

const depositsOver = <R>(providers: Layer.Layer<PaymentProviders, CommandFailed, R>) =>
  reportCommand(
    "deposits",
    "Read the balances of deposit addresses from BNB Smart Chain, and list the addresses with a balance that belong to no order.",
    {
      from: index("from", "The first deposit index."),
      to: index("to", `The last deposit index. One command reads at most ${MAX_SCANNED} addresses.`)
    },
    ({ from, to }) =>
      Effect.gen(function* () {
        if (to < from || to - from >= MAX_SCANNED) {
          const message = `--to must not be less than --from, and the range must have at most ${MAX_SCANNED} indexes.`
          return yield* new CommandFailed({ exit: "usage", code: "usage", message })
        }
        const { all } = yield* PaymentProviders
        const read = all.find(({ deposits }) => deposits !== undefined)?.deposits
        if (read === undefined) return yield* unavailable("No payment provider with deposit addresses is configured.")
        const balances = yield* Effect.catchTag(read({ first: from, last: to }), "ProviderUnavailable", ({ detail }) =>
          unavailable(`The balances could not be read: ${detail}`)
        )
        const ordered = yield* (yield* TopUpRecovery).orderedIndexes({ first: from, last: to })
        const found = balances.filter(({ index }) => !ordered.has(index))
        return {
          document: found.map(({ address, index, receivedRaw, tokenKind }) => ({
            index,
            address,
            token_kind: tokenKind,
            received_raw: receivedRaw.toString(),
            received_usd_micro: floorToUsdMicro(receivedRaw).toString()
          })),
          text:
            found.length === 0
              ? `From index ${from} to ${to}, each deposit address with a balance belongs to an order.`
              : table(
                  [
                    { heading: "index", cell: ({ index }) => String(index), align: "right" },
                    { heading: "address", cell: ({ address }) => address },
                    { heading: "token", cell: ({ tokenKind }) => tokenKind },
                    {
                      heading: "received usd",
                      cell: ({ receivedRaw }) => quotaText(floorToUsdMicro(receivedRaw)),
                      align: "right"
                    }
                  ],
                  found
                )
        } satisfies Report
      }).pipe(Effect.provide(providers))
  )

const unavailable = (message: string) => new CommandFailed({ exit: "failed", code: "provider_unavailable", message })

export const recoveryOver = <R>(providers: Layer.Layer<PaymentProviders, CommandFailed, R>) =>
  [unknown, skipAddresses, depositsOver(providers)] as const
