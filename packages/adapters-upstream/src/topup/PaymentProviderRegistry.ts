/**
 * Lists the payment providers. To add a provider, create a folder with its descriptor and add the descriptor to this
 * list.
 *
 * If several providers have the same payment method, the first one with credentials takes the new payments.
 */
import { bsc } from "./bsc/BscDescriptor.ts"
import { midtrans } from "./midtrans/MidtransDescriptor.ts"
import { nowPayments } from "./nowpayments/NowPaymentsDescriptor.ts"
import { tripay } from "./tripay/TripayDescriptor.ts"
import type { PaymentProviderDescriptor } from "./wire/PaymentProviderDescriptor.ts"

export const PAYMENT_PROVIDERS: ReadonlyArray<PaymentProviderDescriptor> = [midtrans, tripay, nowPayments, bsc]
