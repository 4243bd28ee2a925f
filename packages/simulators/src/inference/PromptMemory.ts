/**
 * The prompt cache of a simulated upstream. If a conversation begins like an earlier one, the common beginning is read
 * from the cache, as with a real provider.
 */
import { createHash } from "node:crypto"

const MAX_PROMPTS = 1_000

export class PromptMemory {
  readonly #tokensByDigest = new Map<string, number>()

  /** Returns how many tokens of this prompt are cached, and caches the whole prompt. */
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
    if (this.#tokensByDigest.size > MAX_PROMPTS && oldest !== undefined) this.#tokensByDigest.delete(oldest)
  }
}
