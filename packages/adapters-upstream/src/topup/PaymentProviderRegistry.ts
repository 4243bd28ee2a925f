/**
 * The list of payment providers. To add a provider, add a folder with a descriptor and one line here.
 *
 * If two providers take the same method, the first provider in the list that has credentials takes new payments.
 */
import { bsc } from "./bsc/BscDescriptor.ts"
import { midtrans } from "./midtrans/MidtransDescriptor.ts"
import { nowPayments } from "./nowpayments/NowPaymentsDescriptor.ts"
import { tripay } from "./tripay/TripayDescriptor.ts"
import type { PaymentProviderDescriptor } from "./wire/PaymentProviderDescriptor.ts"

export const PAYMENT_PROVIDERS: ReadonlyArray<PaymentProviderDescriptor> = [midtrans, tripay, nowPayments, bsc]
