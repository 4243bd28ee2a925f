/**
 * Rewrites a provider's whole message (not a stream) for the client: as a JSON body, or as the events of
 * a stream if the client requested a stream.
 */
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import { contentOfMessage, mergeCounts, noCounts, reportedBy } from "@tollgate/domain/inference/MessagesDelivered"
import * as Either from "effect/Either"
import { scanner } from "../../wire/JsonScan.ts"
import { parseResponse } from "../../wire/ParseResponse.ts"
import { refusalIn, withoutEmptyError } from "../../wire/UpstreamRefusal.ts"
import type { ResponseContext, ResponseFailure, TranslatedResponse, Translation } from "../relay/RelayProtocol.ts"
import { eventsOf } from "./MessagesEvents.ts"
import { publicNamesOf, redactedMessage } from "./MessagesRedaction.ts"
import { MessagesStream } from "./MessagesStream.ts"

export const translatedResponse = (
  context: ResponseContext,
  body: Buffer
): Either.Either<TranslatedResponse, ResponseFailure> =>
  fromMessage(body, (given) => {
    const message = redactedMessage(given, publicNamesOf(context))
    const counts = mergeCounts(noCounts, message.usage)
    return Either.right({
      body: message.content === given.content ? withContentOf(body, message) : JSON.stringify(message),
      encoding: "utf8",
      content: () => contentOfMessage(message),
      usage: counts === noCounts ? undefined : reportedBy(counts)
    })
  })

/**
 * Builds the events that a provider would have streamed for the message, and translates these events like the events of
 * a provider's stream.
 */
export const responseAsStream = (context: ResponseContext, body: Buffer): Either.Either<Translation, ResponseFailure> =>
  fromMessage(body, (message) => {
    const stream = new MessagesStream(context)
    let all: Translation = { frames: "", content: "", usage: undefined, end: undefined }
    for (const event of eventsOf(message)) {
      const { frames, content, usage, end } = stream.translate({ event: "", data: JSON.stringify(event) })
      if (end !== undefined && end !== "complete") return Either.left(end)
      all = { frames: all.frames + frames, content: all.content + content, usage: usage ?? all.usage, end }
    }
    return Either.right(all)
  })

const fromMessage = <A>(
  body: Buffer,
  rewrite: (message: JsonObject) => Either.Either<A, ResponseFailure>
): Either.Either<A, ResponseFailure> => {
  try {
    const given = asObject(parseResponse(body))
    if (given === undefined) return Either.left(invalidMessage("the response is not a JSON object"))
    const message = withoutEmptyError(given)
    const refusal = refusalIn(message)
    if (refusal !== undefined) return Either.left(refusal)
    return message.type === "message" && isContent(message.content)
      ? rewrite(message)
      : Either.left(invalidMessage("the response is not a message"))
  } catch {
    return Either.left(invalidMessage("the response is not valid JSON, or has too many values"))
  }
}

const isContent = (content: unknown): boolean =>
  Array.isArray(content) && content.every((block) => asObject(block) !== undefined)

const scan = scanner({ members: { content: {} }, media: { members: [], types: [] } })

/**
 * Encodes the message as JSON, but copies the original bytes of its content, because parsing and encoding could change
 * numbers in tool inputs. If the scanner refuses the body, for example because `content` occurs twice, the content is
 * encoded too.
 */
const withContentOf = (body: Buffer, message: JsonObject): string => {
  const scanned = scan(body)
  const member = scanned._tag === "Right" ? scanned.right.content : undefined
  if (member === undefined) return JSON.stringify(message)
  const content = body.toString("utf8", member.start, member.end)
  const members = Object.entries(message).map(
    ([name, value]) => `${JSON.stringify(name)}:${name === "content" ? content : JSON.stringify(value)}`
  )
  return `{${members.join(",")}}`
}

const invalidMessage = (cause: string): UpstreamFailed => new UpstreamFailed({ cause })
