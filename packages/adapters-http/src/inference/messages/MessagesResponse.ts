/**
 * A whole message, rewritten for the client, or told as the stream it asked for.
 */
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asArray, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { contentOfMessage, noFigures, reportedBy, withFigures } from "@tollgate/domain/inference/MessagesDelivered"
import * as Either from "effect/Either"
import { scanner } from "../../wire/JsonScan.ts"
import { refusalIn } from "../../wire/UpstreamRefusal.ts"
import type { ResponseFailure, TranslatedResponse, Translation } from "../relay/RelayProtocol.ts"
import { MessagesStream } from "./MessagesStream.ts"
import { messageWithoutTraces, type OurNames } from "./ProviderTraces.ts"

export const messagesAnswer = (names: OurNames, body: Buffer): Either.Either<TranslatedResponse, ResponseFailure> =>
  fromMessage(body, (given) => {
    const message = messageWithoutTraces(given, names)
    const figures = withFigures(noFigures, message.usage)
    return Either.right({
      body: message.content === given.content ? withContentOf(body, message) : JSON.stringify(message),
      content: contentOfMessage(message),
      usage: figures === noFigures ? undefined : reportedBy(figures)
    })
  })

/** The events a supplier would have sent, passed on as those of a stream. */
export const messagesAnswerAsStream = (names: OurNames, body: Buffer): Either.Either<Translation, ResponseFailure> =>
  fromMessage(body, (message) => {
    const stream = new MessagesStream(names)
    let told: Translation = { frames: "", content: "", usage: undefined, end: undefined }
    for (const event of eventsOf(message)) {
      const { frames, content, usage, end } = stream.translate({ event: "", data: JSON.stringify(event) })
      if (end !== undefined && end !== "complete") return Either.left(end)
      told = { frames: told.frames + frames, content: told.content + content, usage: usage ?? told.usage, end }
    }
    return Either.right(told)
  })

const fromMessage = <A>(
  body: Buffer,
  rewrite: (message: JsonObject) => Either.Either<A, ResponseFailure>
): Either.Either<A, ResponseFailure> => {
  try {
    const message = asObject(JSON.parse(body.toString()))
    if (message === undefined) return Either.left(noMessage("an answer that is no JSON object"))
    const broken = refusalIn(message)
    if (broken !== undefined) return Either.left(broken)
    return message.type === "message" && isContent(message.content)
      ? rewrite(message)
      : Either.left(noMessage("an answer that is no message"))
  } catch {
    return Either.left(noMessage("an answer that is no JSON"))
  }
}

const isContent = (content: unknown): boolean =>
  Array.isArray(content) && content.every((block) => asObject(block) !== undefined)

const scan = scanner({ members: { content: {} }, media: { members: [], types: [] } })

/** The inputs of tools may hold numbers that would not survive being read and written: the content stays as it came. */
const withContentOf = (body: Buffer, message: JsonObject): string => {
  const scanned = scan(body)
  const at = scanned._tag === "Right" ? scanned.right.content : undefined
  if (at === undefined) return JSON.stringify(message)
  const content = body.toString("utf8", at.start, at.end)
  const members = Object.entries(message).map(
    ([name, value]) => `${JSON.stringify(name)}:${name === "content" ? content : JSON.stringify(value)}`
  )
  return `{${members.join(",")}}`
}

const eventsOf = ({ content, stop_reason, stop_sequence, stop_details, container, ...message }: JsonObject) => [
  { type: "message_start", message: { ...message, content: [], stop_reason: null, stop_sequence: null } },
  ...asArray(content).flatMap((block, index) => eventsOfBlock(asObject(block) ?? {}, index)),
  {
    type: "message_delta",
    delta: { stop_reason: stop_reason ?? "end_turn", stop_sequence: stop_sequence ?? null, stop_details, container },
    usage: message.usage
  },
  { type: "message_stop" }
]

const eventsOfBlock = (block: JsonObject, index: number): ReadonlyArray<JsonObject> => [
  { type: "content_block_start", index, content_block: emptied(block) },
  ...deltasOf(block).map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index }
]

/** As a block stands in a stream before its deltas; those of hosted tools have none and stand there whole. */
const emptied = (block: JsonObject): JsonObject => {
  if (block.type === "text") return { ...block, text: "", citations: undefined }
  if (block.type === "thinking") return { ...block, thinking: "", signature: "" }
  return asObject(block.input) === undefined ? block : { ...block, input: {} }
}

const deltasOf = (block: JsonObject): ReadonlyArray<JsonObject> => {
  if (block.type === "text") {
    const citations = asArray(block.citations).map((citation) => ({ type: "citations_delta", citation }))
    return [...citations, { type: "text_delta", text: asText(block.text) }]
  }
  if (block.type === "thinking") {
    return [
      { type: "thinking_delta", thinking: asText(block.thinking) },
      { type: "signature_delta", signature: asText(block.signature) }
    ]
  }
  const input = asObject(block.input)
  return input === undefined || Object.keys(input).length === 0
    ? []
    : [{ type: "input_json_delta", partial_json: JSON.stringify(input) }]
}

const noMessage = (cause: string): UpstreamFailed => new UpstreamFailed({ cause })
