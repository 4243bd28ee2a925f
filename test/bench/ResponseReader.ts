/**
 * Reads one response at a time from a connection. It finds only what the benchmark needs: the end of the response, the
 * number of its events, and the usage that the response reports.
 */

export interface MeasuredResponse {
  readonly ok: boolean
  /** The beginning and the end of the response, for an error message. */
  readonly text: string
  /** The number of server-sent events. */
  readonly events: number
  readonly promptTokens: number
  readonly completionTokens: number
}

/** The number of buffers to keep. The usage is in the last bytes of a response, so the earlier buffers are dropped. */
const PIECES_KEPT = 6
const END_OF_EVENT = Buffer.from("\n\n")
const END_OF_CHUNKS = "0\r\n\r\n"

export class ResponseReader {
  #head: string | undefined
  #kept: Array<Buffer> = []
  #bytes = 0
  #size: number | undefined
  #events = 0
  #endedInNewline = false

  /** True after the first byte of the body. */
  get begun(): boolean {
    return this.#head !== undefined && this.#bytes > this.#head.length + 4
  }

  /** Returns the response if these bytes complete it; otherwise `undefined`. */
  read(data: Buffer): MeasuredResponse | undefined {
    this.#kept.push(data)
    this.#bytes += data.length
    if (this.#head === undefined) {
      const whole = this.#kept.length === 1 ? data : Buffer.concat(this.#kept)
      const end = whole.indexOf("\r\n\r\n")
      if (end < 0) return undefined
      this.#head = whole.toString("latin1", 0, end)
      const length = /content-length: *(\d+)/i.exec(this.#head)?.[1]
      this.#size = length === undefined ? undefined : end + 4 + Number(length)
    }
    if (this.#size === undefined) this.#countEvents(data)
    if (this.#kept.length > PIECES_KEPT) this.#kept.shift()
    return this.#isComplete() ? this.#finish() : undefined
  }

  #countEvents(data: Buffer): void {
    let at = this.#endedInNewline && data[0] === 0x0a ? 1 : 0
    this.#events += at
    for (;;) {
      at = data.indexOf(END_OF_EVENT, at)
      if (at < 0) break
      this.#events += 1
      at += 2
    }
    this.#endedInNewline = data.at(-1) === 0x0a && data.at(-2) !== 0x0a
  }

  #isComplete(): boolean {
    return this.#size === undefined ? this.#tail(END_OF_CHUNKS.length) === END_OF_CHUNKS : this.#bytes >= this.#size
  }

  #tail(bytes: number): string {
    const last = this.#kept.at(-1)
    const enough = last === undefined || last.length < bytes ? Buffer.concat(this.#kept) : last
    return enough.toString("latin1", Math.max(0, enough.length - bytes))
  }

  #finish(): MeasuredResponse {
    const text = this.#tail(2_048)
    const response: MeasuredResponse = {
      ok: this.#head?.startsWith("HTTP/1.1 200 ") === true,
      text: `${this.#head?.slice(0, 40)} ... ${text.slice(-400)}`,
      events: this.#events,
      promptTokens: lastCount(text, '"prompt_tokens":'),
      completionTokens: lastCount(text, '"completion_tokens":')
    }
    this.#head = undefined
    this.#kept = []
    this.#bytes = 0
    this.#size = undefined
    this.#events = 0
    this.#endedInNewline = false
    return response
  }
}

const lastCount = (text: string, member: string): number => {
  const at = text.lastIndexOf(member)
  return at < 0 ? 0 : Number.parseInt(text.slice(at + member.length, at + member.length + 12), 10)
}
