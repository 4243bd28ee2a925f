/**
 * Which prompts a simulated supplier has seen: a conversation that begins like an earlier one reads that part from a
 * cache, as with the real ones.
 */
import { createHash } from "node:crypto"

const PROMPTS_AT_MOST = 1_000

export class PromptMemory {
  readonly #tokensByDigest = new Map<string, number>()

  /** How many tokens of this prompt were seen before; the whole of it is remembered from now on. */
  cachedTokens(messages: ReadonlyArray<unknown>, promptTokens: number): number {
    const hash = createHash("sha256")
    let cached = 0
    let digest = ""
    for (const message of messages) {
      hash.update(JSON.stringify(message) ?? "null").update("\n")
      digest = hash.copy().digest("base64")
      cached = this.#tokensByDigest.get(digest) ?? cached
    }
    this.#remember(digest, promptTokens)
    return Math.min(cached, promptTokens)
  }

  #remember(digest: string, tokens: number): void {
    this.#tokensByDigest.delete(digest)
    this.#tokensByDigest.set(digest, tokens)
    const [oldest] = this.#tokensByDigest.keys()
    if (this.#tokensByDigest.size > PROMPTS_AT_MOST && oldest !== undefined) this.#tokensByDigest.delete(oldest)
  }
}
