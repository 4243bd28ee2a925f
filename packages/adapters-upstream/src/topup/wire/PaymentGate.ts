/**
 * Limits the concurrent calls to one payment provider. A circuit breaker pauses the calls after repeated outages.
 *
 * Failures of reads of the same payment count as one failure until another call succeeds. Otherwise one payment that
 * the provider cannot return, and that is read every second, would pause the calls for all resellers.
 *
 * For the same reason, a read whose probe failed leaves the next probe to other calls. It probes again only after a
 * further pause of the same length without a probe of another call. A provider whose payments are read rarely is
 * therefore still probed.
 */
import { ProviderUnavailable } from "@tollgate/application/topup/PaymentProviders"
import * as Breaker from "@tollgate/domain/inference/Breaker"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { isOutage, type PaymentFailures } from "./PaymentFailures.ts"

/** The number of reads at which a memory of failed reads is cleared, for a provider that never responds. */
const MAX_FAILED_READS = 1_000

export interface PaymentGateSettings {
  readonly breaker: Breaker.BreakerSettings
  readonly maxConcurrentCalls: number
  /** Returns the time of a monotonic clock, in milliseconds. */
  readonly nowMillis: () => number
}

export interface PaymentGate {
  /**
   * Runs the call, or fails immediately if the breaker does not admit the call or the limit is reached. `read` is the
   * path that the call reads; undefined if the call is not a read.
   */
  readonly pass: <A, E>(
    call: Effect.Effect<A, E>,
    read: string | undefined
  ) => Effect.Effect<A, E | ProviderUnavailable>
}

export const make = (
  { label, unavailable }: PaymentFailures,
  { breaker: settings, maxConcurrentCalls, nowMillis }: PaymentGateSettings
): PaymentGate => {
  let breaker: Breaker.Breaker = Breaker.closed
  let running = 0
  let lastOutage: ProviderUnavailable | undefined
  /** The reads whose failure the closed breaker has counted since the last success. */
  const failedReads = new Set<string>()
  /**
   * The reads whose probe failed since the last success. If one of them fails as the probe a second time, a new round
   * begins: only this read stays in the set. The other reads can probe again, because their failure is older, and the
   * provider may have recovered since.
   */
  const failedProbes = new Set<string>()

  const admission = (read: string | undefined): Breaker.Passage => {
    const waits = read !== undefined && failedProbes.has(read)
    const seen =
      breaker.state === "open" && waits
        ? { ...breaker, untilMillis: breaker.untilMillis + settings.openMillis }
        : breaker
    return Breaker.pass(seen, settings, nowMillis())
  }

  /**
   * Admits a call. Returns true if the call is the probe: the one call that a half-open breaker admits to test the
   * provider.
   */
  const enter = (read: string | undefined) =>
    Effect.suspend(() => {
      const passage = admission(read)
      if (!passage.admitted) {
        const { kind, detail } = lastOutage ?? { kind: "network" as const, detail: "no response" }
        return Effect.fail(
          unavailable(
            kind,
            `calls are paused for another ${Math.ceil(passage.retryAfterMillis)} ms; the last failure: ${detail}`
          )
        )
      }
      if (running >= maxConcurrentCalls)
        return Effect.fail(unavailable("rate_limited", `${running} calls are already running`))
      running += 1
      breaker = passage.breaker
      return Effect.succeed(passage.breaker.state === "half_open")
    })

  const leave = <A, E>(probes: boolean, exit: Exit.Exit<A, E>, read: string | undefined) =>
    Effect.suspend(() => {
      running -= 1
      const outage = outageIn(exit)
      lastOutage = outage ?? lastOutage
      // While the breaker is open or half-open, only the probe changes it. Calls that started earlier do not show the
      // current state of the provider.
      if (breaker.state !== "closed" && !probes) return Effect.void
      const before = breaker.state
      const next = judge(breaker, exit, outage, read)
      breaker = next
      if (next.state === "open" && before === "closed") {
        return Effect.logWarning("payment provider failed repeatedly; calls to it are paused", {
          provider: label,
          after: outage?.detail
        })
      }
      return next.state === "closed" && before === "half_open"
        ? Effect.logInfo("payment provider responds again", { provider: label })
        : Effect.void
    })

  const judge = <A, E>(
    before: Breaker.Breaker,
    exit: Exit.Exit<A, E>,
    outage: ProviderUnavailable | undefined,
    read: string | undefined
  ) => {
    if (outage !== undefined) {
      if (before.state === "closed" && read !== undefined) {
        if (failedReads.has(read)) return before
        if (failedReads.size >= MAX_FAILED_READS) failedReads.clear()
        failedReads.add(read)
      }
      if (before.state !== "closed" && read !== undefined) {
        if (failedProbes.has(read) || failedProbes.size >= MAX_FAILED_READS) failedProbes.clear()
        failedProbes.add(read)
      }
      return Breaker.failed(before, settings, nowMillis())
    }
    if (isInterrupted(exit)) return Breaker.undecided(before, nowMillis())
    failedReads.clear()
    failedProbes.clear()
    return Breaker.served(before)
  }

  return {
    pass: (call, read) =>
      Effect.acquireUseRelease(
        enter(read),
        () => call,
        (probes, exit) => leave(probes, exit, read)
      )
  }
}

const outageIn = <A, E>(exit: Exit.Exit<A, E>): ProviderUnavailable | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  const failure = Option.getOrUndefined(Cause.failureOption(exit.cause))
  return failure instanceof ProviderUnavailable && isOutage(failure) ? failure : undefined
}

const isInterrupted = <A, E>(exit: Exit.Exit<A, E>): boolean =>
  Exit.isFailure(exit) && Option.isNone(Cause.failureOption(exit.cause))
