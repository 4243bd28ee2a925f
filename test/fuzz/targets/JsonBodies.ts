/**
 * The target of request bodies: the scanner of JSON and the replacement of members. The scanner must accept exactly the
 * JSON objects in UTF-8 that `JSON.parse` accepts, except for three differences: the scanner refuses deep nesting,
 * repeated or almost equal names of the members that the gateway reads, and elements of a list in which a required
 * member is missing or its last value is not a string. A body for a provider must parse to the client's body with the
 * new values.
 */
import { isUtf8 } from "node:buffer"
import { isDeepStrictEqual } from "node:util"
import { chatProtocol } from "@tollgate/adapters-http/inference/chat/ChatProtocol"
import { embeddingsProtocol } from "@tollgate/adapters-http/inference/embeddings/EmbeddingsProtocol"
import { messagesProtocol } from "@tollgate/adapters-http/inference/messages/MessagesProtocol"
import { readCountRequest } from "@tollgate/adapters-http/inference/messages/MessagesRequest"
import { responsesProtocol } from "@tollgate/adapters-http/inference/responses/ResponsesProtocol"
import { MAX_DEPTH } from "@tollgate/adapters-http/wire/JsonReader"
import { scanner } from "@tollgate/adapters-http/wire/JsonScan"
import { runSlices, type Slices } from "@tollgate/adapters-http/wire/Slices"
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import type { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import { asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import { type Either, FastCheck } from "effect"
import { type FuzzTarget, must, mustEqual, pure } from "../Target.ts"
import { depthOf, jsonText, membersOf, objectWith, type Tree, treeOf } from "./JsonText.ts"

type Read<Request> = (body: Buffer) => Either.Either<Request, InvalidRequest>

interface BodyProtocol {
  readonly read: Read<InferenceRequest>
  /** Returns the body for a provider whose model is `MODEL`. */
  readonly rewrite: (body: Buffer) => Uint8Array | undefined
}

export interface JsonBodiesSubject {
  readonly scan: (body: Buffer) => Either.Either<object, InvalidRequest>
  readonly protocols: { readonly [name: string]: BodyProtocol }
}

const MODEL = 'provider\'s "model"'

const protocolOf = <Request extends InferenceRequest>(protocol: {
  readonly read: (body: Buffer) => Slices<ReturnType<Read<Request>>>
  readonly bodyFor: (request: Request, model: string) => Uint8Array
}): BodyProtocol => ({
  read: (body) => runSlices(protocol.read(body)),
  rewrite: (body) => {
    const read = runSlices(protocol.read(body))
    return read._tag === "Right" ? protocol.bodyFor(read.right, MODEL) : undefined
  }
})

/** The plan of the scanner that is compared with the reference. */
const PLAN = { model: {}, options: { inside: { flag: {} } }, items: { each: "role" }, prompt: {} }

export const jsonBodiesSubject: JsonBodiesSubject = {
  scan: scanner({ members: PLAN, media: { members: ["url"], types: ["image_url"] } }),
  protocols: {
    chat: protocolOf(chatProtocol),
    messages: protocolOf(messagesProtocol),
    responses: protocolOf(responsesProtocol),
    embeddings: protocolOf(embeddingsProtocol),
    count: protocolOf({ read: readCountRequest, bodyFor: messagesProtocol.bodyFor })
  }
}

const text = FastCheck.constantFrom('"m"', '"hello"', '"\\u006d"')
const flag = FastCheck.constantFrom("true", "false", "null")
const limit = FastCheck.constantFrom("1", "0", "100", "1e3", "1e308", "-1", "null")
const block = objectWith({
  type: FastCheck.constantFrom('"text"', '"image_url"', '"tool_result"'),
  text,
  content: jsonText
})
const content = FastCheck.oneof(
  text,
  FastCheck.array(block, { maxLength: 2 }).map((blocks) => `[${blocks}]`)
)
const message = objectWith({ role: FastCheck.constantFrom('"user"', '"assistant"'), content })
const messages = FastCheck.array(message, { maxLength: 3 }).map((items) => `[${items}]`)
const tool = objectWith({ type: FastCheck.constantFrom('"function"', '"advisor_1"', '"image_generation"'), name: text })
const tools = FastCheck.array(tool, { maxLength: 2 }).map((items) => `[${items}]`)
const shared = { model: text, stream: flag, tools }
const chat = objectWith({
  ...shared,
  messages,
  max_tokens: limit,
  n: limit,
  stream_options: objectWith({ include_usage: flag })
})
const anthropic = objectWith({ ...shared, messages, max_tokens: limit, system: content, fallbacks: tools })
const input = FastCheck.oneof(
  content,
  FastCheck.array(FastCheck.nat(), { minLength: 1 }).map((it) => JSON.stringify(it))
)
const responses = objectWith({ ...shared, input, instructions: text, background: flag, max_output_tokens: limit })
const planned = objectWith({ model: text, options: objectWith({ flag }), items: messages, prompt: jsonText })
const deep = FastCheck.tuple(FastCheck.integer({ min: 505, max: 520 }), FastCheck.boolean()).map(
  ([levels, inObjects]) =>
    `{"x":${(inObjects ? '{"a":' : "[").repeat(levels - 1)}1${(inObjects ? "}" : "]").repeat(levels - 1)}}`
)

const check =
  ({ scan, protocols }: JsonBodiesSubject) =>
  (body: Buffer): void => {
    const parsed = parse(body)
    const tree = parsed === undefined ? undefined : treeOf(body.toString())
    const expected = tree !== undefined && depthOf(tree) <= MAX_DEPTH && isAccepted(tree)
    mustEqual(scan(body)._tag === "Right", expected, "the scanner accepts the body")
    for (const [name, { read, rewrite }] of Object.entries(protocols)) {
      const request = read(body)
      if (request._tag === "Left") {
        mustEqual(request.left._tag, "InvalidRequest", `${name}: the error`)
        continue
      }
      must(parsed !== undefined, `${name}: accepts a body that is not a JSON object`)
      const { model, streamed, promptText, size } = request.right
      mustEqual([model, streamed], [parsed.model, parsed.stream === true], `${name}: the model and the stream flag`)
      must(size.textBytes >= 0 && size.textBytes <= body.length, `${name}: the number of text bytes`)
      promptText()
      const rewritten = parse(Buffer.from(rewrite(body) ?? []))
      must(isDeepStrictEqual(rewritten, expectedBody(name, parsed)), `${name}: the body for a provider is wrong`)
    }
  }

const parse = (body: Buffer): JsonObject | undefined => {
  if (!isUtf8(body)) return undefined
  try {
    return asObject(JSON.parse(body.toString()))
  } catch {
    return undefined
  }
}

const expectedBody = (protocol: string, parsed: JsonObject): JsonObject =>
  protocol === "chat" && parsed.stream === true
    ? { ...parsed, model: MODEL, stream_options: { ...asObject(parsed.stream_options), include_usage: true } }
    : { ...parsed, model: MODEL }

/** Decides by the plan whether a body is accepted. */
const isAccepted = (tree: Tree): boolean => {
  const members = membersOf(tree)
  const options = membersOf(valueOf(members, "options"))
  const items = valueOf(members, "items")
  return (
    isUnambiguous(members, Object.keys(PLAN)) &&
    (options === undefined || isUnambiguous(options, ["flag"])) &&
    (!Array.isArray(items) ||
      items.every((item) => typeof (membersOf(item)?.findLast(([name]) => name === "role") ?? [])[1] === "string"))
  )
}

type Members = ReturnType<typeof membersOf>

const valueOf = (members: Members, name: string): Tree | undefined => members?.find(([given]) => given === name)?.[1]

const isUnambiguous = (members: Members, names: ReadonlyArray<string>): boolean =>
  names.every((name) => {
    const alike = (members ?? []).filter(([given]) => given.replaceAll("ſ", "s").toLowerCase() === name)
    return alike.length === 0 || (alike.length === 1 && alike[0]?.[0] === name)
  })

export const jsonBodiesTarget = (subject: JsonBodiesSubject): FuzzTarget => ({
  name: "json-bodies",
  grammar: FastCheck.oneof(chat, anthropic, responses, planned, planned, jsonText, deep).map((it) => Buffer.from(it)),
  words: [
    '"model":',
    '"messages":',
    '"stream":true',
    '"stream_options":',
    '"role":',
    '"Model":1',
    ',"model":"b"',
    "1e"
  ],
  testInputs: 750,
  open: pure(check(subject))
})
