/**
 * The amount of a payment in the unit its method is paid in. A payment in the other unit never reaches a provider;
 * that it did is a fault of ours.
 */
import type { PaymentIntent } from "@tollgate/application/topup/PaymentProviders"
import type { Idr } from "@tollgate/domain/money/Idr"
import type { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import * as Effect from "effect/Effect"

export const rupiahOf = ({ due, method }: PaymentIntent): Effect.Effect<Idr> =>
  due._tag === "Rupiah" ? Effect.succeed(due.totalIdr) : Effect.dieMessage(`a payment by ${method} is due in rupiah`)

export const dollarsOf = ({ due, method }: PaymentIntent): Effect.Effect<UsdMicro> =>
  due._tag === "Dollars"
    ? Effect.succeed(due.amountUsdMicro)
    : Effect.dieMessage(`a payment by ${method} is due in dollars`)
