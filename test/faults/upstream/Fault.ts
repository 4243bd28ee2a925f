/**
 * One thing a supplier can do wrong, what its client is told then, and what that costs.
 */
import type { Script, Step } from "../../support/upstream/Script.ts"

export interface Fault {
  /** A sentence whose subject is the supplier. */
  readonly supplier: string
  /** What the client asks for. */
  readonly asked: "stream" | "answer"
  readonly at?: Whereabouts
  /** Members of the provider's timeouts in the catalog. */
  readonly timeouts?: object
  readonly says: (audience: Audience) => Script
  readonly told: Told
  readonly due: Due
}

/** Where the supplier is believed to be. */
export type Whereabouts = "where nobody listens" | "behind a certificate nobody trusts" | "where no TLS is spoken"

export type Told =
  /** An error instead of an answer. */
  | { readonly as: "refusal"; readonly status: number; readonly code: string; readonly retryAfter?: string }
  /** A stream that raises an error after this text; undefined where how much there is depends on the clock. */
  | { readonly as: "broken stream"; readonly text: string | undefined; readonly code: string }
  /** An answer after all, with this usage, or else the one that is due where the supplier reports it. */
  | { readonly as: "answer"; readonly text: string; readonly usage?: Figures }

export type Figures = readonly [prompt: number, completion: number]

export type Due =
  | "nothing"
  /** The prompt and the text the client has, both counted here. */
  | "what arrived"
  /** These tokens, as the supplier reports them. */
  | Figures
  /** The prompt as the supplier reports it, and the text the client has. */
  | { readonly prompt: number }

export const refusal = (status: number, code: string, retryAfter?: string): Told => ({
  as: "refusal",
  status,
  code,
  ...(retryAfter === undefined ? {} : { retryAfter })
})

/** What most faults come to. */
export const failure = refusal(502, "upstream_error")

export const brokenAfter = (text: string | undefined, code = "upstream_error"): Told => ({
  as: "broken stream",
  text,
  code
})

/** Tells a script how far its client has listened, so that it can go wrong at that very moment. */
export class Audience {
  #heard = 0
  #waiting: Array<() => void> = []

  hear(): void {
    this.#heard += 1
    for (const look of this.#waiting.splice(0)) look()
  }

  /** Goes on when the client has so many chunks, or has left. */
  has(chunks: number): Step {
    return (wire) => Promise.race([this.#reach(chunks), wire.gone])
  }

  async #reach(chunks: number): Promise<void> {
    while (this.#heard < chunks) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}
