/**
 * A gateway with a supplier behind it and a customer in front of it, where official clients are tried.
 */
import type { UsdPico } from "@tollgate/domain/money/UsdPico"
import type { Usage } from "./OfficialClient.ts"

export interface Venue {
  readonly url: string
  readonly key: string
  readonly model: string
  /** Pico-USD a token. */
  readonly price: Readonly<Record<keyof Usage, bigint>>
  /** What the customer began with. */
  readonly credit: UsdPico
  /** What is left, as the customer is told. */
  readonly balance: () => Promise<string>
  /** Breaks off every stream under way. */
  readonly breakStreams: () => void
  /** Where a client was told who serves it from, or at what cost. */
  readonly leaks: () => ReadonlyArray<string>
  /** Fails when the books do not agree. */
  readonly close: () => Promise<void>
}
