/**
 * Reads one response at a time off a connection, only as far as the benchmark needs: where it ends, how many events
 * it had, and the usage it reported.
 */

export interface Answer {
  readonly ok: boolean
  /** The first bytes, when it is not ok. */
  readonly text: string
  /** Server-sent events, whatever they are. */
  readonly events: number
  readonly promptTokens: number
  readonly completionTokens: number
}

/** The usage stands in the last bytes of a response. */
const PIECES_KEPT = 6
const END_OF_EVENT = Buffer.from("\n\n")
const END_OF_CHUNKS = "0\r\n\r\n"

export class AnswerReader {
  #head: string | undefined
  #kept: Array<Buffer> = []
  #bytes = 0
  #size: number | undefined
  #events = 0
  #endedInNewline = false

  /** True once a byte of the body is here. */
  get begun(): boolean {
    return this.#head !== undefined && this.#bytes > this.#head.length + 4
  }

  /** The response, when these bytes complete it. */
  read(data: Buffer): Answer | undefined {
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

  #finish(): Answer {
    const text = this.#tail(2_048)
    const answer: Answer = {
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
    return answer
  }
}

const lastCount = (text: string, member: string): number => {
  const at = text.lastIndexOf(member)
  return at < 0 ? 0 : Number.parseInt(text.slice(at + member.length, at + member.length + 12), 10)
}
