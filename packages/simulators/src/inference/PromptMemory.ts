/**
 * Simulates the prompt cache of an upstream. If a conversation begins with all messages of an earlier request that is
 * still cached, the tokens of that request count as read from the cache.
 */
import { createHash } from "node:crypto"

const MAX_PROMPTS = 1_000

export class PromptMemory {
  readonly #tokensByDigest = new Map<string, number>()

  /** Returns the number of cached tokens at the beginning of this prompt, and caches the whole prompt. */
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
