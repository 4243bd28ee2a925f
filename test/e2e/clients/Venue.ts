/**
 * A gateway with an upstream and a customer, against which the official clients are tested.
 */
import type { UsdPico } from "@tollgate/domain/money/UsdPico"
import type { Usage } from "./OfficialClient.ts"

export interface Venue {
  readonly url: string
  readonly key: string
  readonly model: string
  /** Prices in pico-USD a token. */
  readonly price: Readonly<Record<keyof Usage, bigint>>
  /** The customer's balance at the start. */
  readonly credit: UsdPico
  /** The customer's present balance. */
  readonly balance: () => Promise<string>
  /** Cuts every open stream. */
  readonly breakStreams: () => void
  /** The places in responses that reveal the provider or its cost. */
  readonly leaks: () => ReadonlyArray<string>
  /** Fails when the audit finds a difference. */
  readonly close: () => Promise<void>
}
