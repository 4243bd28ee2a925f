/**
 * A fault of an upstream: the response of the upstream, the result at the client, and the charge.
 */
import type { Script, Step } from "../../support/upstream/Script.ts"

export interface Fault {
  /** A clause whose subject is the upstream. */
  readonly upstream: string
  /** Whether the client requests a stream or a whole response. */
  readonly asked: "stream" | "answer"
  readonly at?: Whereabouts
  /** The timeouts of the provider in the catalog. */
  readonly timeouts?: object
  readonly says: (audience: Audience) => Script
  readonly told: Told
  readonly due: Due
}

/** The base URL of the provider in the catalog. */
export type Whereabouts = "at a closed port" | "behind an untrusted certificate" | "where no TLS is spoken"

export type Told =
  /** An error instead of a response. */
  | { readonly as: "refusal"; readonly status: number; readonly code: string; readonly retryAfter?: string }
  /** A stream that raises an error after this text. Undefined when the amount of text depends on the clock. */
  | { readonly as: "broken stream"; readonly text: string | undefined; readonly code: string }
  /** A response with this usage, or with the charged usage when the upstream reports it. */
  | { readonly as: "answer"; readonly text: string; readonly usage?: Figures }

export type Figures = readonly [prompt: number, completion: number]

export type Due =
  | "nothing"
  /** The prompt and the delivered text, both counted by the gateway. */
  | "what arrived"
  /** The tokens that the upstream reports. */
  | Figures
  /** The prompt that the upstream reports, and the delivered text. */
  | { readonly prompt: number }

export const refusal = (status: number, code: string, retryAfter?: string): Told => ({
  as: "refusal",
  status,
  code,
  ...(retryAfter === undefined ? {} : { retryAfter })
})

/** The most frequent result of a fault. */
export const failure = refusal(502, "upstream_error")

export const brokenAfter = (text: string | undefined, code = "upstream_error"): Told => ({
  as: "broken stream",
  text,
  code
})

/** Tells a script how much its client has received, so that the fault happens at that moment. */
export class Audience {
  #heard = 0
  #waiting: Array<() => void> = []

  hear(): void {
    this.#heard += 1
    for (const look of this.#waiting.splice(0)) look()
  }

  /** Continues when the client has this many chunks, or has disconnected. */
  has(chunks: number): Step {
    return (wire) => Promise.race([this.#reach(chunks), wire.gone])
  }

  async #reach(chunks: number): Promise<void> {
    while (this.#heard < chunks) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}
