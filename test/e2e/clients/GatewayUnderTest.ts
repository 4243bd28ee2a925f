/**
 * Defines the environment in which the official clients are tested: a gateway with an upstream and a customer.
 */
import type { UsdPico } from "@tollgate/domain/money/UsdPico"
import type { Usage } from "./OfficialClient.ts"

export interface GatewayUnderTest {
  readonly url: string
  readonly key: string
  readonly model: string
  /** The prices in pico-USD per token. */
  readonly price: Readonly<Record<keyof Usage, bigint>>
  /** The customer's balance at the start. */
  readonly credit: UsdPico
  /** Returns the customer's present balance in USD, as the API formats it. */
  readonly balance: () => Promise<string>
  readonly breakStreams: () => void
  /** Returns the places in responses that reveal the provider, its cost or a key. */
  readonly leaks: () => ReadonlyArray<string>
  /** Stops the gateway. Fails if the audit finds a violation. */
  readonly close: () => Promise<void>
}
