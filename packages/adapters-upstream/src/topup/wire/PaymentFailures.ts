/**
 * Creates the failures of calls to one payment provider. Each failure contains the provider's label.
 */
import { AmountRejected, ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"

/** The log text for a payment status that the adapter does not know. */
export const UNKNOWN_STATUS = "the payment provider reports an unknown payment status; the payment counts as pending"

export type FailureKind = ProviderUnavailable["kind"]

export interface PaymentFailures {
  /** The label of the provider, which orders store. */
  readonly label: string
  /** Creates a failure. `ambiguous` is true if the provider may have processed the request although the call failed. */
  readonly unavailable: (kind: FailureKind, detail: string, ambiguous?: boolean) => ProviderUnavailable
  readonly amountRejected: (detail: string) => AmountRejected
  /** Converts an AmountRejected to a ProviderUnavailable, for calls that send no amount. */
  readonly withoutAmount: (failure: AmountRejected | ProviderUnavailable) => ProviderUnavailable
}

export const failuresOf = (label: string): PaymentFailures => {
  const unavailable: PaymentFailures["unavailable"] = (kind, detail, ambiguous = false) =>
    new ProviderUnavailable({ provider: label, kind, ambiguous, detail: brief(detail) })
  return {
    label,
    unavailable,
    amountRejected: (detail) => new AmountRejected({ provider: label, detail: brief(detail) }),
    withoutAmount: (failure) => (failure._tag === "AmountRejected" ? unavailable("rejected", failure.detail) : failure)
  }
}

/**
 * Returns true if the failure means that the provider is down, overloaded or unreachable. The circuit breaker counts
 * such a failure. A repeatable call is retried once after such a failure, if the timeout of the call permits it.
 */
export const isOutage = ({ kind }: ProviderUnavailable): boolean => OUTAGES.has(kind)

const OUTAGES: ReadonlySet<FailureKind> = new Set(["network", "timeout", "server_error", "rate_limited"])

const DETAIL_CHARACTERS = 300

const brief = (detail: string): string => detail.slice(0, DETAIL_CHARACTERS)
