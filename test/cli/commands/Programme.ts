/**
 * Creates resellers and top-up orders for the tests of CLI commands, with the stores of the server.
 */
import * as PgResellers from "@tollgate/adapters-postgres/reseller/PgResellers"
import * as PgTopUpOrders from "@tollgate/adapters-postgres/topup/PgTopUpOrders"
import { TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import { Idr } from "@tollgate/domain/money/Idr"
import { TokenRaw } from "@tollgate/domain/money/TokenRaw"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { Email } from "@tollgate/domain/validation/Email"
import { Effect, Layer } from "effect"
import * as Programme from "../../support/Programme.ts"
import { layer as commandLine } from "../CommandLine.ts"

export const layer = Layer.provideMerge(Layer.mergeAll(PgResellers.layer, PgTopUpOrders.layer), commandLine)

export const signedUp = (email: string) => Programme.anApplicant(Email.make(email))

/** Creates an unpaid order of ten USD, to be paid in rupiah by QRIS. */
export const orderedQris = (resellerId: ResellerId) =>
  Programme.anOrder(
    resellerId,
    {
      method: "qris",
      amount: { _tag: "Rupiah", amountIdr: Idr(100_000n), feeIdr: Idr(5_000n), totalIdr: Idr(105_000n) },
      provider: "midtrans",
      needsDepositIndex: false
    },
    { instructions: { _tag: "Qris", qrContent: "00020101", qrImageUrl: undefined } }
  )

/**
 * Creates an order of ten USD, to be paid on BNB Smart Chain, and credits it if the received amount suffices.
 */
export const orderedBep20 = (resellerId: ResellerId, arrivedUsdMicro: bigint) =>
  Effect.gen(function* () {
    const orders = yield* TopUpOrders
    const { id, quotaUsdMicro } = yield* Programme.anOrder(resellerId)
    const received = { receivedRaw: TokenRaw(arrivedUsdMicro * 10n ** 12n), receivedUsdMicro: undefined }
    const evidence = { transactions: ["0xfeed"], remarks: ["seen by a test"] }
    const status =
      arrivedUsdMicro >= quotaUsdMicro ? ({ _tag: "Paid", paidAt: undefined } as const) : ({ _tag: "Pending" } as const)
    yield* orders.recordObservation(id, { ...status, received, evidence })
    return yield* orders.credit(id)
  })
