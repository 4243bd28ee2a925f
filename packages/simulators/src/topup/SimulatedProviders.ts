/**
 * Lists the simulated payment providers. Each has the same name as a real provider in `PaymentProviderRegistry`.
 */
import { bscSimulator } from "./bsc/BscSimulator.ts"
import { midtransSimulator } from "./midtrans/MidtransSimulator.ts"
import { nowPaymentsSimulator } from "./nowpayments/NowPaymentsSimulator.ts"
import type { SimulatedProviderDescriptor } from "./payment/SimulatedProvider.ts"
import { tripaySimulator } from "./tripay/TripaySimulator.ts"

export const SIMULATED_PROVIDERS: ReadonlyArray<SimulatedProviderDescriptor> = [
  midtransSimulator,
  tripaySimulator,
  nowPaymentsSimulator,
  bscSimulator
]
