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
import { CLOSE_ARRAY, JsonReader, OPEN_ARRAY, QUOTE } from "../../wire/JsonReader.ts"
import { type ScannedBody, type ScannedMember, scanner } from "../../wire/JsonScan.ts"

export interface EmbeddingsRequest extends InferenceRequest {
  /** The number of inputs. The response must contain one embedding for each input. */
  readonly inputs: number
  readonly body: Buffer
  readonly members: ScannedBody<keyof typeof members>
}

const members = { model: {}, input: {}, stream: {} }
const NO_MEDIA = { members: [], types: [] }
const scan = scanner({ members, media: NO_MEDIA })

export const readEmbeddingsRequest = (body: Buffer): Either.Either<EmbeddingsRequest, InvalidRequest> =>
  Either.flatMap(scan(body), (members) => {
    const values = new MemberValues(body)
    const model = values.name(members.model, "model")
    const streamed = values.flag(members.stream, "stream")
    if (values.fault !== undefined) return Either.left(values.fault)
    if (streamed) return refusal("stream", "must be false: embeddings are not streamed")
    return Either.map(readInput(body, members.input), ({ inputs, tokens }) => ({
      model,
      streamed,
      size: {
        textBytes: members.input?.textBytes ?? 0,
        countedTokens: tokens,
        attachments: 0,
        maxOutputTokens: undefined,
        choices: 1,
        promptOnly: true
      },
      promptText: () => promptText(JSON.parse(body.toString())),
      inputs,
      body,
      members
    }))
  })

/** The maximum number of inputs in one request, as in OpenAI's documentation. */
const MAX_INPUTS = 2_048

interface Input {
  readonly inputs: number
  /** The number of tokens in all token arrays together; 0 if the input is text. */
  readonly tokens: number
}

const refusal = (param: string, must: string) =>
  Either.left(new InvalidRequest({ message: `'${param}' ${must}.`, param }))

const readInput = (body: Buffer, member: ScannedMember | undefined): Either.Either<Input, InvalidRequest> => {
  if (member?.kind === "array" && !member.empty) return new InputArray(body).read(member.start)
  return member?.kind === "string" && member.end - member.start > EMPTY_STRING
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
  #items = 0
  #tokens = 0

  constructor(body: Buffer) {
    this.#reader = new JsonReader(body, new BodySize(mediaOf(NO_MEDIA)))
  }

  read(open: number): Either.Either<Input, InvalidRequest> {
    this.#reader.items(open, CLOSE_ARRAY, (at) => this.#item(at))
    if (this.#fault !== undefined) return Either.left(this.#fault)
    // An array of tokens is one input.
    return Either.right({ inputs: this.#kind === "token" ? 1 : this.#items, tokens: this.#tokens })
  }

  #item(at: number): number {
    const { bytes } = this.#reader
    const end = bytes[at] === OPEN_ARRAY ? this.#tokenArray(at) : this.#reader.value(at, 1, -1)
    if (end < 0) return -1
    const kind = kindOf(bytes, at, end)
    const param = `input[${this.#items}]`
    if (kind === undefined) return this.#refuse(param, "must be a string, a token (an integer), or an array of tokens")
    if (this.#kind !== undefined && kind !== this.#kind) {
      return this.#refuse(param, `must be a ${this.#kind}, like the items before it`)
    }
    if (kind === "string" && end - at === EMPTY_STRING) return this.#refuse(param, "must not be empty")
    this.#kind = kind
    this.#items += 1
    if (kind === "token") this.#tokens += 1
    else if (this.#items > MAX_INPUTS) return this.#refuse("input", `must have at most ${MAX_INPUTS} items`)
    return end
  }

  #tokenArray(open: number): number {
    const reader = this.#reader
    const param = `input[${this.#items}]`
    const before = this.#tokens
    const end = reader.items(open, CLOSE_ARRAY, (at) => {
      const end = reader.value(at, 2, -1)
      if (kindOf(reader.bytes, at, end) !== "token") return this.#refuse(param, "must contain only tokens (integers)")
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
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    if (byte < 0x30 || byte > 0x39) return undefined
  }
  return "token"
}
