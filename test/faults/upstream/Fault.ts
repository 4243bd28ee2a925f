/**
 * Defines an upstream fault, with the result that the client must receive and the required charge.
 */
import { type Script, type Step, script } from "../../support/upstream/Script.ts"

export interface Fault {
  /** The behaviour of the upstream as a test label, such as "sends invalid JSON". */
  readonly upstream: string
  readonly requested: "stream" | "whole"
  /** The unreachable upstream that replaces the scripted one. */
  readonly at?: UnreachableAddress
  readonly timeouts?: object
  readonly upstreamScript: (delivered: DeliveredEvents) => Script
  readonly expected: ExpectedResult
  readonly charge: ExpectedCharge
}

/** A base URL at which the gateway cannot make a request. */
export type UnreachableAddress = "at a closed port" | "behind an untrusted certificate" | "at a port without TLS"

export type ExpectedResult =
  | { readonly kind: "refusal"; readonly status: number; readonly code: string; readonly retryAfter?: string }
  /** A stream that ends with an error after this text. The text is undefined when its length depends on timing. */
  | { readonly kind: "broken stream"; readonly text: string | undefined; readonly code: string }
  /** A complete response. The client reads `usage`, by default the counts in the charge. */
  | { readonly kind: "complete"; readonly text: string; readonly usage?: TokenCounts }

export type TokenCounts = readonly [prompt: number, completion: number]

export type ExpectedCharge =
  | "nothing"
  /** The prompt and the delivered text, both counted by the gateway. */
  | "delivered content"
  /** The tokens that the upstream reports. */
  | TokenCounts
  /** The prompt tokens that the upstream reports, and the delivered text as counted by the gateway. */
  | { readonly prompt: number }

export const refusal = (status: number, code: string, retryAfter?: string): ExpectedResult => ({
  kind: "refusal",
  status,
  code,
  ...(retryAfter === undefined ? {} : { retryAfter })
})

/** What the client receives for most faults that occur before any content. */
export const failure = refusal(502, "upstream_error")

export const brokenAfter = (text: string | undefined, code = "upstream_error"): ExpectedResult => ({
  kind: "broken stream",
  text,
  code
})

export type UpstreamScript = Script | ReadonlyArray<Step> | ((delivered: DeliveredEvents) => ReadonlyArray<Step>)

export const streamFault = (
  upstream: string,
  upstreamScript: UpstreamScript,
  expected: ExpectedResult,
  charge: ExpectedCharge,
  timeouts: object = {}
): Fault => ({
  upstream,
  requested: "stream",
  upstreamScript: (delivered) => {
    const steps = typeof upstreamScript === "function" ? upstreamScript(delivered) : upstreamScript
    return "steps" in steps ? steps : script({ steps })
  },
  expected,
  charge,
  timeouts
})

export const invalidResponse = (
  upstream: string,
  upstreamScript: Script,
  expected: ExpectedResult = failure,
  timeouts: object = {}
): Fault => ({
  upstream,
  requested: "whole",
  upstreamScript: () => upstreamScript,
  expected,
  charge: "nothing",
  timeouts
})

/** Returns a script that sends the head of a JSON response and then runs these steps. */
export const unfinishedResponse = (...steps: Script["steps"]): Script =>
  script({ headers: { "content-type": "application/json" }, steps })

/** Counts the events that a client has received, so that a script can cause its fault at an exact position. */
export class DeliveredEvents {
  #count = 0
  #waiting: Array<() => void> = []

  add(): void {
    this.#count += 1
    for (const resume of this.#waiting.splice(0)) resume()
  }

  /** Waits until the client has received this many events, or the gateway has disconnected. */
  atLeast(events: number): Step {
    return (wire) => Promise.race([this.#reach(events), wire.gone])
  }

  async #reach(events: number): Promise<void> {
    while (this.#count < events) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}
