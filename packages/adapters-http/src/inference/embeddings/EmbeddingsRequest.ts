/**
 * This module reads an embeddings request. Only the JSON members that routing, metering and billing need are read.
 * The body is sent to the provider byte for byte, except for the value of `model`.
 */
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import { promptText } from "@tollgate/domain/inference/EmbeddingsPrompt"
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"
import { MemberValues } from "../../wire/BodyMembers.ts"
import { BodySize, mediaOf } from "../../wire/BodySize.ts"
import { ClientBody } from "../../wire/ClientBody.ts"
import { CLOSE_ARRAY, JsonReader, OPEN_ARRAY, PAUSED, QUOTE, SLICE_BYTES } from "../../wire/JsonReader.ts"
import { type ScannedBody, type ScannedMember, slicedScanner } from "../../wire/JsonScan.ts"
import { promptIn } from "../../wire/PromptMembers.ts"
import type { Slices } from "../../wire/Slices.ts"

export interface EmbeddingsRequest extends InferenceRequest {
  /** The number of inputs. The response must contain one embedding for each input. */
  readonly inputs: number
  readonly body: ClientBody
  readonly members: ScannedBody<keyof typeof members>
}

const members = { model: {}, input: {}, stream: {} }
const NO_MEDIA = { members: [], types: [] }
const scan = slicedScanner({ members, media: NO_MEDIA })

export function* readEmbeddingsRequest(bytes: Buffer): Slices<Either.Either<EmbeddingsRequest, InvalidRequest>> {
  const scanned = yield* scan(bytes)
  if (Either.isLeft(scanned)) return Either.left(scanned.left)
  const members = scanned.right
  const { input } = members
  const values = new MemberValues(bytes)
  const model = values.name(members.model, "model")
  const streamed = values.flag(members.stream, "stream")
  if (values.fault !== undefined) return Either.left(values.fault)
  if (streamed) return refusal("stream", "must be false: embeddings are not streamed")
  const body = new ClientBody(bytes)
  return Either.map(yield* readInput(bytes, input), ({ inputs, tokens }) => ({
    model,
    streamed,
    size: {
      textBytes: input?.textBytes ?? 0,
      countedTokens: tokens,
      attachments: 0,
      maxOutputTokens: undefined,
      choices: 1,
      promptOnly: true
    },
    // Token arrays are already counted, and can have too many values to be parsed.
    promptText: () =>
      tokens > 0 ? { text: "", separateTexts: [], extraTokens: tokens } : promptIn(body.bytes(), { input }, promptText),
    inputs,
    body,
    members
  }))
}

/** The maximum number of inputs in one request, as in OpenAI's documentation. */
const MAX_INPUTS = 2_048

interface Input {
  readonly inputs: number
  /** The number of tokens in all token arrays together; 0 if the input is text. */
  readonly tokens: number
}

const refusal = (param: string, must: string) =>
  Either.left(new InvalidRequest({ message: `'${param}' ${must}.`, param }))

function* readInput(body: Buffer, member: ScannedMember | undefined): Slices<Either.Either<Input, InvalidRequest>> {
  if (member?.type === "array" && !member.empty) return yield* new InputArray(body).read(member.start)
  return member?.type === "string" && member.end - member.start > EMPTY_STRING
    ? Either.right({ inputs: 1, tokens: 0 })
    : refusal("input", "must be a non-empty string or a non-empty array")
}

/** The length in bytes of an empty JSON string, including both quotes. */
const EMPTY_STRING = 2

type ItemKind = "string" | "token" | "token array"

/** Reads an `input` array, whose items must all have the same kind. The bytes were already checked to be valid JSON. */
class InputArray {
  readonly #reader: JsonReader
  #fault: InvalidRequest | undefined
  #kind: ItemKind | undefined
  #count = 0
  #tokens = 0

  constructor(body: Buffer) {
    this.#reader = new JsonReader(body, new BodySize(mediaOf(NO_MEDIA)))
    this.#reader.pauseAt = SLICE_BYTES
  }

  *read(open: number): Slices<Either.Either<Input, InvalidRequest>> {
    yield* this.#items(open, (at) => this.#item(at))
    if (this.#fault !== undefined) return Either.left(this.#fault)
    // An array of tokens is one input.
    return Either.right({ inputs: this.#kind === "token" ? 1 : this.#count, tokens: this.#tokens })
  }

  /** Reads the items of an array, and yields between two slices. */
  *#items(open: number, read: (at: number) => number | Slices<number>): Slices<number> {
    const reader = this.#reader
    let at = reader.skipSpace(open + 1)
    while (reader.bytes[at] !== CLOSE_ARRAY) {
      if (at >= reader.pauseAt) {
        yield
        reader.pauseAt = at + SLICE_BYTES
      }
      const item = read(at)
      const end = typeof item === "number" ? item : yield* item
      at = end < 0 ? -1 : reader.nextItem(end, CLOSE_ARRAY)
      if (at < 0) return -1
    }
    return at + 1
  }

  #item(at: number): number | Slices<number> {
    const { bytes } = this.#reader
    if (bytes[at] === OPEN_ARRAY) return this.#arrayItem(at)
    // An item of a wrong kind can be large, so it is not read.
    if (bytes[at] !== QUOTE && !isDigit(bytes[at])) return this.#countItem(at, at + 1)
    const end = this.#reader.value(at, 1, -1)
    return end === PAUSED ? this.#pausedItem(at) : this.#countItem(at, end)
  }

  *#arrayItem(at: number): Slices<number> {
    return this.#countItem(at, yield* this.#tokenArray(at))
  }

  *#pausedItem(at: number): Slices<number> {
    let end = PAUSED
    while (end === PAUSED) {
      yield
      end = this.#reader.continue()
    }
    return this.#countItem(at, end)
  }

  /** Checks and counts the item from `at` to `end`. Returns the end of the item; -1 if the item is refused. */
  #countItem(at: number, end: number): number {
    const { bytes } = this.#reader
    if (end < 0) return -1
    const kind = kindOf(bytes, at, end)
    const param = `input[${this.#count}]`
    if (kind === undefined) return this.#refuse(param, "must be a string, a token (an integer), or an array of tokens")
    if (this.#kind !== undefined && kind !== this.#kind) {
      return this.#refuse(param, `must be a ${this.#kind}, like the items before it`)
    }
    if (kind === "string" && end - at === EMPTY_STRING) return this.#refuse(param, "must not be empty")
    this.#kind = kind
    this.#count += 1
    if (kind === "token") this.#tokens += 1
    else if (this.#count > MAX_INPUTS) return this.#refuse("input", `must have at most ${MAX_INPUTS} items`)
    return end
  }

  *#tokenArray(open: number): Slices<number> {
    const reader = this.#reader
    const param = `input[${this.#count}]`
    const before = this.#tokens
    const end = yield* this.#items(open, (at) => {
      const end = isDigit(reader.bytes[at]) ? reader.value(at, 2, -1) : at
      if (end === at || kindOf(reader.bytes, at, end) !== "token") {
        return this.#refuse(param, "must contain only tokens (integers)")
      }
      this.#tokens += 1
      return end
    })
    return end >= 0 && this.#tokens === before ? this.#refuse(param, "must not be empty") : end
  }

  #refuse(param: string, must: string): -1 {
    this.#fault = new InvalidRequest({ message: `'${param}' ${must}.`, param })
    return -1
  }
}

const kindOf = (bytes: Buffer, start: number, end: number): ItemKind | undefined => {
  if (bytes[start] === QUOTE) return "string"
  if (bytes[start] === OPEN_ARRAY) return "token array"
  for (let at = start; at < end; at++) if (!isDigit(bytes[at])) return undefined
  return "token"
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39
