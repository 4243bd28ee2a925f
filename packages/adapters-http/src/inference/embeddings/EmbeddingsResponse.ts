/**
 * This module rewrites a provider's list of embeddings for the client. The bytes of each embedding are copied and not
 * parsed, because a response can have megabytes of numbers, and no digit may change. All other members are written by
 * the gateway, so none of them identifies the provider.
 *
 *     {"object":"list","data":[{"object":"embedding","index":0,"embedding":<copied>}],"model":...,"usage":{...}}
 */
import { usageOf } from "@tollgate/domain/inference/EmbeddingsPrompt"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asObject } from "@tollgate/domain/inference/Json"
import * as Either from "effect/Either"
import { BodySize, mediaOf } from "../../wire/BodySize.ts"
import { CLOSE_ARRAY, CLOSE_OBJECT, JsonReader, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "../../wire/JsonReader.ts"
import { hasTooManyValues, parseResponse } from "../../wire/ParseResponse.ts"
import { refusalIn, statesError } from "../../wire/UpstreamRefusal.ts"
import type { ResponseContext, ResponseFailure, TranslatedResponse } from "../relay/RelayProtocol.ts"

/** Rewrites a response. Returns a failure unless the response contains exactly `inputs` embeddings. */
export const translatedResponse = (
  { publicName }: ResponseContext,
  inputs: number,
  body: Buffer
): Either.Either<TranslatedResponse, ResponseFailure> => {
  const response = new EmbeddingList(body)
  if (!response.isRead) return Either.left(failureIn(body))
  if (response.items.length !== inputs) {
    return Either.left(invalidList(`the response has ${response.items.length} embeddings for ${inputs} inputs`))
  }
  const usage = usageOf(response.usage)
  const usageMember =
    usage.prompt === undefined
      ? ""
      : `,"usage":{"prompt_tokens":${usage.prompt.input},"total_tokens":${usage.prompt.input}}`
  return Either.right({
    body: `{"object":"list","data":[${response.items.join(",")}],"model":${JSON.stringify(publicName)}${usageMember}}`,
    // An embedding contains no text, so a local token count of the output is 0.
    encoding: "utf8",
    content: () => "",
    usage
  })
}

const invalidList = (cause: string): UpstreamFailed => new UpstreamFailed({ cause })

/** Returns the failure for a response that is not a list of embeddings. */
const failureIn = (body: Buffer): ResponseFailure => {
  try {
    const response = asObject(parseResponse(body))
    return (response && refusalIn(response)) ?? invalidList("the response is not a list of embeddings")
  } catch {
    return invalidList("the response is not valid JSON, or has too many values")
  }
}

/** Reads the embeddings and the usage of a response. */
class EmbeddingList {
  /** The JSON text of each item of the new list: an object with the embedding and its index. */
  readonly items: Array<string> = []
  usage: unknown
  /** True if the body is one JSON object that has an array of embeddings and no error. */
  readonly isRead: boolean
  readonly #reader: JsonReader
  #hasData = false

  constructor(body: Buffer) {
    const reader = new JsonReader(body, new BodySize(mediaOf({ members: [], types: [] })))
    this.#reader = reader
    const start = reader.skipSpace(0)
    const end =
      body[start] === OPEN_OBJECT
        ? this.#members(start, (name, at) => (name === "data" ? this.#data(at) : this.#other(name, at)))
        : -1
    this.isRead = this.#hasData && end >= 0 && reader.skipSpace(end) === body.length
  }

  #members(open: number, read: (name: string, at: number) => number): number {
    const reader = this.#reader
    return reader.items(open, CLOSE_OBJECT, (at) => {
      const value = reader.name(at)
      return value < 0 ? -1 : read(reader.bytes.toString("utf8", at + 1, reader.nameEnd), value)
    })
  }

  #data(open: number): number {
    if (this.#reader.bytes[open] !== OPEN_ARRAY) return -1
    this.#hasData = true
    this.items.length = 0
    return this.#reader.items(open, CLOSE_ARRAY, (at) => this.#item(at))
  }

  #item(open: number): number {
    const { bytes } = this.#reader
    if (bytes[open] !== OPEN_OBJECT) return -1
    let embedding: string | undefined
    let index = String(this.items.length)
    const end = this.#members(open, (name, at) => {
      const end = this.#reader.value(at, 3, -1)
      if (end < 0) return -1
      if (name === "embedding") {
        if (!isEmbedding(bytes, at, end)) return -1
        embedding = bytes.toString("latin1", at, end)
      } else if (name === "index" && /^\d{1,9}$/.test(bytes.toString("latin1", at, Math.min(end, at + 10)))) {
        index = bytes.toString("latin1", at, end)
      }
      return end
    })
    if (embedding === undefined) return -1
    this.items.push(`{"object":"embedding","index":${index},"embedding":${embedding}}`)
    return end
  }

  #other(name: string, at: number): number {
    const end = this.#reader.value(at, 1, -1)
    if (end < 0 || (name !== "usage" && name !== "error")) return end
    const member = this.#reader.bytes.subarray(at, end)
    if (hasTooManyValues(member)) return -1
    const value: unknown = JSON.parse(member.toString())
    if (name === "usage") this.usage = value
    return name === "error" && statesError(value) ? -1 : end
  }
}

const tableOf = (characters: string): Uint8Array => {
  const table = new Uint8Array(256)
  for (const byte of Buffer.from(characters)) table[byte] = 1
  return table
}
const isNumeric = tableOf("0123456789+-.eE,[] \n\r\t")
// The backslash is allowed because some encoders write a slash as `\/`.
const isBase64 = tableOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\\")

/**
 * Checks the characters of an embedding, whose syntax as a JSON value is already checked. Returns true if the value is
 * an array other than `[]` with only characters of numbers and nested arrays, or a string other than `""` with only
 * characters of base64.
 */
const isEmbedding = (bytes: Buffer, start: number, end: number): boolean => {
  const allowed = bytes[start] === OPEN_ARRAY ? isNumeric : bytes[start] === QUOTE ? isBase64 : undefined
  if (allowed === undefined || end - start <= 2) return false
  for (let at = start + 1; at < end - 1; at++) if (allowed[bytes[at] as number] !== 1) return false
  return true
}
