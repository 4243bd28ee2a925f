/**
 * The targets of the stream translators of chat, messages and responses. For any bytes from a provider, the stream of
 * the client
 *   - always ends with the final event of the protocol or with an error frame,
 *   - contains exactly the content that is billed,
 *   - is read by the stream parser of the official client, which throws an error if and only if the stream failed.
 */
import { Stream as AnthropicStream } from "@anthropic-ai/sdk/core/streaming"
import { chatProtocol } from "@tollgate/adapters-http/inference/chat/ChatProtocol"
import { messagesProtocol } from "@tollgate/adapters-http/inference/messages/MessagesProtocol"
import type {
  ResponseFailure,
  StreamTranslator,
  Translation
} from "@tollgate/adapters-http/inference/relay/RelayProtocol"
import { responsesProtocol } from "@tollgate/adapters-http/inference/responses/ResponsesProtocol"
import { runSlices } from "@tollgate/adapters-http/wire/Slices"
import { SseDecoder, type SseEvent } from "@tollgate/adapters-http/wire/SseDecoder"
import * as Chat from "@tollgate/domain/inference/ChatDelivered"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import * as Messages from "@tollgate/domain/inference/MessagesDelivered"
import * as Responses from "@tollgate/domain/inference/ResponsesDelivered"
import { Either } from "effect"
import { Stream as OpenAiStream } from "openai/core/streaming"
import { piecesOf } from "../Mutation.ts"
import { type FuzzTarget, must, mustEqual, pure } from "../Target.ts"
import { referenceEvents } from "./EventStreams.ts"
import { providerStream, type StreamedProtocol } from "./ProviderStreams.ts"

export const REQUEST_ID = RequestId("0192f5c0-0000-7000-8000-000000000001")
export const context = { requestId: REQUEST_ID, publicName: "public-model", createdAtSeconds: 1_790_000_000 }

export interface StreamSubject {
  readonly translator: () => StreamTranslator
  /** The error frames of the protocol, used if the translator has no function `fail`. */
  readonly errorFrames: (error: ResponseFailure) => string
}

const request = (members: object): Buffer =>
  Buffer.from(JSON.stringify({ model: "public-model", stream: true, ...members }))
const messages = [{ role: "user", content: "hi" }]
const chatRequest = Either.getOrThrow(
  runSlices(chatProtocol.read(request({ messages, stream_options: { include_usage: true } })))
)
const messagesRequest = Either.getOrThrow(runSlices(messagesProtocol.read(request({ messages, max_tokens: 9 }))))
const responsesRequest = Either.getOrThrow(runSlices(responsesProtocol.read(request({ input: "hi" }))))

export const streamSubjects: { readonly [P in StreamedProtocol]: StreamSubject } = {
  chat: {
    translator: () => chatProtocol.stream.translator(chatRequest, context),
    errorFrames: (error) => chatProtocol.stream.errorFrames(error, REQUEST_ID)
  },
  messages: {
    translator: () => messagesProtocol.stream.translator(messagesRequest, context),
    errorFrames: (error) => messagesProtocol.stream.errorFrames(error, REQUEST_ID)
  },
  responses: {
    translator: () => responsesProtocol.stream.translator(responsesRequest, context),
    errorFrames: (error) => responsesProtocol.stream.errorFrames(error, REQUEST_ID)
  }
}

interface ClientStream {
  readonly text: string
  readonly content: string
  readonly isComplete: boolean
}

export const clientStream = (subject: StreamSubject, pieces: ReadonlyArray<Buffer>): ClientStream => {
  const decoder = new SseDecoder()
  const translator = subject.translator()
  let text = ""
  let content = ""
  let end: Translation["end"]
  const apply = (translation: Translation) => {
    if (end !== undefined) return
    text += translation.frames
    content += translation.content
    end = translation.end
  }
  const applyAll = (events: ReadonlyArray<SseEvent>) => {
    for (const event of events) apply(translator.translate(event))
  }
  for (const piece of pieces) {
    const decoded = decoder.push(piece)
    if (decoded._tag === "Right") applyAll(decoded.right)
    else end ??= decoded.left
  }
  applyAll(decoder.end())
  apply(translator.close())
  must(end !== undefined, "the translator does not end the stream")
  if (end === "complete") return { text, content, isComplete: true }
  return {
    text: text + (translator.fail?.(end, REQUEST_ID, false) ?? subject.errorFrames(end)),
    content,
    isComplete: false
  }
}

interface Rules {
  readonly isFinalEvent: (event: SseEvent, data: JsonObject) => boolean
  readonly isError: (event: SseEvent, data: JsonObject) => boolean
  readonly contentOf: (data: ReadonlyArray<JsonObject>) => string
  /** Returns the events as the official client reads them. */
  readonly client: (response: Response) => AsyncIterable<unknown>
  /** Returns whether the official client passes this event on. */
  readonly isShown: (event: SseEvent) => boolean
}

const openAi = (response: Response) => OpenAiStream.fromSSEResponse<unknown>(response, new AbortController())
const anthropic = (response: Response) => AnthropicStream.fromSSEResponse<unknown>(response, new AbortController())

const isErrorEvent = (event: SseEvent, { error }: JsonObject) =>
  event.event === "error" && asText(asObject(error)?.message) !== ""

export const rules: { readonly [P in StreamedProtocol]: Rules } = {
  chat: {
    isFinalEvent: ({ data }) => data === "[DONE]",
    isError: (_, { error }) => asText(asObject(error)?.message) !== "",
    contentOf: (data) => data.map(Chat.contentOf).join(""),
    client: openAi,
    isShown: ({ data }) => data !== "[DONE]"
  },
  messages: {
    isFinalEvent: (_, { type }) => type === "message_stop",
    isError: isErrorEvent,
    contentOf: (data) => data.map(Messages.contentOfEvent).join(""),
    client: anthropic,
    isShown: ({ event }) => event !== "ping"
  },
  responses: {
    isFinalEvent: (_, { type }) => type === "response.completed" || type === "response.incomplete",
    isError: isErrorEvent,
    contentOf: (data) => {
      const streamed = data.map(Responses.contentOfEvent).join("")
      return streamed === "" ? Responses.contentOfResponse(asObject(data.at(-1)?.response) ?? {}) : streamed
    },
    client: openAi,
    isShown: () => true
  }
}

const dataOf = ({ data }: SseEvent): JsonObject => {
  if (data === "[DONE]") return {}
  const object = asObject(JSON.parse(data))
  must(object !== undefined, "an event is not a JSON object")
  return object
}

export const checkClientStream = async (
  protocol: StreamedProtocol,
  text: string
): Promise<{ readonly content: string; readonly isComplete: boolean; readonly last: JsonObject }> => {
  const { isFinalEvent, isError, contentOf, client, isShown } = rules[protocol]
  const events = referenceEvents(text)
  const data = events.map(dataOf)
  const [last, lastData] = [events.at(-1), data.at(-1)]
  must(text.endsWith("\n\n") && last !== undefined && lastData !== undefined, "the stream ends inside a frame")
  const isComplete = isFinalEvent(last, lastData)
  must(
    isComplete || isError(last, lastData),
    `the stream ends without a final event or an error frame, after ${JSON.stringify(last).slice(0, 200)}`
  )
  must(!events.slice(0, -1).some((event, i) => isFinalEvent(event, data[i] ?? {})), "frames follow the final event")
  const shown = data.filter((_, i) => isShown(events[i] as SseEvent))
  mustEqual(await readByClient(client, text), isComplete ? shown : "an error", "the events that the client reads")
  return { content: contentOf(data), isComplete, last: lastData }
}

const readByClient = async (client: Rules["client"], text: string): Promise<unknown> => {
  const seen: Array<unknown> = []
  try {
    for await (const event of client(new Response(text))) seen.push(event)
    return seen
  } catch (error) {
    // The client throws the error of an error frame. A syntax error is a fault of the stream.
    if (error instanceof SyntaxError) throw error
    return "an error"
  }
}

const check =
  (protocol: StreamedProtocol, subject: StreamSubject) =>
  async (input: Buffer): Promise<void> => {
    const stream = clientStream(subject, piecesOf(input))
    const { content, isComplete } = await checkClientStream(protocol, stream.text)
    mustEqual(isComplete, stream.isComplete, "the stream is complete")
    mustEqual(stream.content, content, "the billed content")
  }

export const streamTarget = (protocol: StreamedProtocol, subject: StreamSubject): FuzzTarget => ({
  name: `${protocol}-streams`,
  grammar: providerStream(protocol),
  words: [
    ...["data: ", "event: ", "data: [DONE]\n\n", "data: {}\n\n", "event: error\n", '"error":{},', '"type":"error",'],
    ...['"type":"', '"delta":', '"finish_reason":"stop"', '"usage":{', '"message":', '"response":', '"content":[{}]']
  ],
  testInputs: 300,
  open: pure(check(protocol, subject))
})
