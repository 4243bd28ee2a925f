/**
 * The list of simulated payment providers. Each has the name of a provider in the registry of real providers.
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
