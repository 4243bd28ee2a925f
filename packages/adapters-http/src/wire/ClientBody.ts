/**
 * `ClientBody` returns the body of a client's request until the request ends. The body is needed again if another
 * provider is tried, or if the tokens of the prompt are counted.
 *
 * undici keeps the provider's body in memory until the end of the response, and a stream can take an hour. The client's
 * body beside it would need the same memory again. Therefore, as soon as the provider's body is built, only this body
 * is stored, with the replacements that restore the client's body.
 *
 * No function that a request stores may use the client's bytes directly, because it would keep them in memory.
 */
import { type Splice, splice, undoing } from "./BodyMembers.ts"

export class ClientBody {
  #stored: Buffer
  /** The replacements that change the stored body to the client's body. */
  #undo: ReadonlyArray<Splice> = []

  constructor(bytes: Buffer) {
    this.#stored = bytes
  }

  /** Returns the bytes that the client has sent. After {@link forProvider} has replaced some, each call copies them. */
  bytes(): Buffer {
    return this.#undo.length === 0 ? this.#stored : splice(this.#stored, this.#undo)
  }

  /**
   * Applies the replacements to the client's bytes. Returns the body for a provider. The caller must not change this
   * body, because it is stored here.
   */
  forProvider(splices: ReadonlyArray<Splice>): Buffer {
    const bytes = this.bytes()
    const spliced = splice(bytes, splices)
    this.#undo = undoing(bytes, splices)
    this.#stored = spliced
    return spliced
  }
}
