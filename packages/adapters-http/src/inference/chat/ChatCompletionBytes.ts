/**
 * Rewrites a provider's whole chat completion without parsing its messages. The members of a message are copied as
 * bytes, except the role and the members that identify the provider. Numbers and escapes inside the messages therefore
 * stay as they are.
 *
 * A completion with an unusual part, for example with tool calls, an error or two messages in one choice, is not
 * rewritten here: `ChatResponse.ts` parses it.
 */
import { isUtf8 } from "node:buffer"
import { contentOf } from "@tollgate/domain/inference/ChatDelivered"
import { BodySize, mediaOf } from "../../wire/BodySize.ts"
import { CLOSE_ARRAY, CLOSE_OBJECT, JsonReader, OPEN_ARRAY, OPEN_OBJECT } from "../../wire/JsonReader.ts"
import { MemberNames } from "../../wire/MemberNames.ts"
import { isProviderMember } from "../../wire/Redaction.ts"
import type { ResponseContext, TranslatedResponse } from "../relay/RelayProtocol.ts"
import { finishReasonOf } from "./ChatChoice.ts"
import { completionIdOf } from "./ChatStream.ts"
import { ChatUsage } from "./ChatUsage.ts"

// In the code below, `found` is the index of a name in one of these three lists, or negative for any other name.
const COMPLETION = new MemberNames(["choices", "usage", "object", "error", "type", "x_groq"])
const CHOICE = new MemberNames(["message", "index", "finish_reason", "logprobs", "error"])
const MESSAGE = new MemberNames([
  "role",
  "tool_calls",
  "reasoning_details",
  "content",
  "refusal",
  "reasoning_content",
  "reasoning",
  "annotations",
  "function_call",
  "audio"
])

/** The result of a reading method that finds an unusual part or a syntax error. */
const UNUSUAL = -1

const NO_MEDIA = mediaOf({ members: [], types: [] })
const INDEX = /^\d{1,9}$/
const REASON = /^"([\w-]*)"$/

/** Returns the rewritten completion; undefined if the completion must be parsed. */
export const splicedCompletion = (context: ResponseContext, body: Buffer): TranslatedResponse | undefined =>
  isUtf8(body) ? new CompletionBytes(body).rewritten(context) : undefined

class CompletionBytes {
  readonly #reader: JsonReader
  /** The body, with one character for each byte. All texts in this class except `#usage` have this form. */
  readonly #text: string
  #choices = ""
  #count = 0
  #usage: string | undefined
  // The fields below describe the current choice.
  #seen = 0
  #message = ""
  #index = ""
  #reason = "stop"
  #logprobs = ""

  constructor(body: Buffer) {
    this.#reader = new JsonReader(body, new BodySize(NO_MEDIA))
    this.#text = body.toString("latin1")
  }

  rewritten({ requestId, publicName, createdAtSeconds }: ResponseContext): TranslatedResponse | undefined {
    const reader = this.#reader
    const start = reader.skipSpace(0)
    if (reader.bytes[start] !== OPEN_OBJECT) return undefined
    const end = reader.items(start, CLOSE_OBJECT, this.#completionMember)
    if (end < 0 || this.#count === 0 || reader.skipSpace(end) !== reader.bytes.length) return undefined
    const usage = new ChatUsage()
    const reported = this.#usage === undefined ? undefined : usage.add({ usage: JSON.parse(this.#usage) })
    const { member } = usage
    const body =
      `{"id":"${completionIdOf(requestId)}","object":"chat.completion","created":${createdAtSeconds},` +
      `"model":${oneCharacterPerByte(JSON.stringify(publicName))},"choices":[${this.#choices}]` +
      (member === undefined ? "}" : `,"usage":${oneCharacterPerByte(JSON.stringify(member))}}`)
    const content = () => contentOf(JSON.parse(Buffer.from(body, "latin1").toString()))
    return { body, encoding: "latin1", content, usage: reported }
  }

  readonly #completionMember = (at: number): number => {
    const reader = this.#reader
    const value = reader.name(at)
    if (value < 0) return UNUSUAL
    const found = COMPLETION.find(reader.bytes, at + 1, reader.nameEnd)
    if (found === 0) return this.#readChoices(value)
    const end = reader.value(value, 1, at + 1)
    if (end < 0 || found < 0) return end
    const text = this.#text.slice(value, end)
    if (found === 1) {
      if (this.#usage !== undefined) return UNUSUAL
      this.#usage = reader.bytes.toString("utf8", value, end)
      return end
    }
    return text === (found === 2 ? '"chat.completion"' : "null") ? end : UNUSUAL
  }

  #readChoices(open: number): number {
    const reader = this.#reader
    return this.#count > 0 || reader.bytes[open] !== OPEN_ARRAY
      ? UNUSUAL
      : reader.items(open, CLOSE_ARRAY, this.#readChoice)
  }

  readonly #readChoice = (open: number): number => {
    const reader = this.#reader
    if (reader.bytes[open] !== OPEN_OBJECT) return UNUSUAL
    this.#seen = 0
    this.#message = ""
    this.#index = String(this.#count)
    this.#reason = "stop"
    this.#logprobs = ""
    const end = reader.items(open, CLOSE_OBJECT, this.#choiceMember)
    if (end < 0 || this.#message === "") return UNUSUAL
    this.#choices +=
      `${this.#count === 0 ? "" : ","}{"index":${this.#index},"message":${this.#message}${this.#logprobs},` +
      `"finish_reason":"${this.#reason}"}`
    this.#count += 1
    return end
  }

  readonly #choiceMember = (at: number): number => {
    const reader = this.#reader
    const value = reader.name(at)
    if (value < 0) return UNUSUAL
    const found = CHOICE.find(reader.bytes, at + 1, reader.nameEnd)
    if (found < 0) return reader.value(value, 3, at + 1)
    if ((this.#seen & (1 << found)) !== 0) return UNUSUAL
    this.#seen |= 1 << found
    if (found === 0) return this.#readMessage(value)
    const end = reader.value(value, 3, at + 1)
    return end >= 0 && this.#storeMember(found, this.#text.slice(value, end)) ? end : UNUSUAL
  }

  /** Stores the value of a member of a choice. Returns false if the value is unusual. */
  #storeMember(found: number, text: string): boolean {
    if (found === 1) {
      this.#index = text
      return INDEX.test(text)
    }
    if (text === "null") return true
    if (found === 4) return false
    if (found === 3) {
      this.#logprobs = `,"logprobs":${text}`
      return true
    }
    const reason = finishReasonOf(REASON.exec(text)?.[1] ?? "error")
    if (reason === "error") return false
    this.#reason = reason ?? "stop"
    return true
  }

  #readMessage(open: number): number {
    const reader = this.#reader
    if (reader.bytes[open] !== OPEN_OBJECT) return UNUSUAL
    this.#message = '{"role":"assistant"'
    let seen = 0
    const end = reader.items(open, CLOSE_OBJECT, (at) => {
      const value = reader.name(at)
      if (value < 0) return UNUSUAL
      const found = MESSAGE.find(reader.bytes, at + 1, reader.nameEnd)
      const isOmitted = found < 0 ? isProviderMember(JSON.parse(this.#text.slice(at, reader.nameEnd + 1))) : found === 0
      if (found >= 0) {
        if ((seen & (1 << found)) !== 0) return UNUSUAL
        seen |= 1 << found
      }
      const end = reader.value(value, 4, at + 1)
      if (end < 0 || isOmitted) return end
      const isList = reader.bytes[value] === OPEN_ARRAY && (found === 1 || found === 2)
      if (isList && reader.skipSpace(value + 1) !== end - 1) return UNUSUAL
      this.#message += `,${this.#text.slice(at, end)}`
      return end
    })
    this.#message += "}"
    return end
  }
}

/** Returns the UTF-8 bytes of the text as a string with one character for each byte. */
const oneCharacterPerByte = (text: string): string =>
  Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString("latin1")
