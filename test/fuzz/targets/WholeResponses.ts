/**
 * The target of whole responses. The body that the gateway writes must parse to the provider's response with the
 * documented changes. A response that becomes a stream must be a correct stream with the same content.
 */
import { isDeepStrictEqual } from "node:util"
import { parseAroundImage, responseBody } from "@tollgate/adapters-http/images/ImageResponseBody"
import { ResponseBuffer } from "@tollgate/adapters-http/images/ResponseBuffer"
import { splicedCompletion } from "@tollgate/adapters-http/inference/chat/ChatCompletionBytes"
import * as Chat from "@tollgate/adapters-http/inference/chat/ChatResponse"
import * as Embeddings from "@tollgate/adapters-http/inference/embeddings/EmbeddingsResponse"
import { publicNamesOf, redactedMessage } from "@tollgate/adapters-http/inference/messages/MessagesRedaction"
import * as Messages from "@tollgate/adapters-http/inference/messages/MessagesResponse"
import type {
  ResponseContext,
  ResponseFailure,
  TranslatedResponse,
  Translation
} from "@tollgate/adapters-http/inference/relay/RelayProtocol"
import { redactedResponse } from "@tollgate/adapters-http/inference/responses/ResponsesRedaction"
import * as Responses from "@tollgate/adapters-http/inference/responses/ResponsesResponse"
import { asArray, asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import { Effect, Either, FastCheck } from "effect"
import { type FuzzTarget, must, mustEqual, pure } from "../Target.ts"
import { jsonText, objectWith } from "./JsonText.ts"
import { providerResponse, type StreamedProtocol } from "./ProviderStreams.ts"
import { checkClientStream, context } from "./StreamTranslators.ts"

type Rewrite<A> = (context: ResponseContext, body: Buffer) => Either.Either<A, ResponseFailure>

export interface WholeResponsesSubject {
  readonly spliced: (context: ResponseContext, body: Buffer) => TranslatedResponse | undefined
  readonly whole: { readonly [P in StreamedProtocol]: Rewrite<TranslatedResponse> }
  readonly streamed: { readonly [P in StreamedProtocol]: Rewrite<Translation> }
  readonly embeddings: (
    context: ResponseContext,
    inputs: number,
    body: Buffer
  ) => ReturnType<Rewrite<TranslatedResponse>>
  /** Returns the body with the image; undefined if the response is refused. */
  readonly image: (body: Buffer) => Buffer | undefined
}

export const wholeResponsesSubject: WholeResponsesSubject = {
  spliced: splicedCompletion,
  whole: {
    chat: Chat.parsedCompletion,
    messages: Messages.translatedResponse,
    responses: Responses.translatedResponse
  },
  streamed: {
    chat: (context, body) => Chat.responseAsStream(true, context, body),
    messages: Messages.responseAsStream,
    responses: Responses.responseAsStream
  },
  embeddings: Embeddings.translatedResponse,
  image: (body) => {
    const buffer = new ResponseBuffer()
    buffer.append(body)
    const parsed = parseAroundImage(buffer.response)
    if (parsed === undefined) return undefined
    const result = Effect.runSync(Effect.either(responseBody(buffer.response, parsed, 1)))
    return result._tag === "Right" && result.right._tag === "Completed" ? result.right.image : undefined
  }
}

const protocols: ReadonlyArray<StreamedProtocol> = ["chat", "messages", "responses"]

const check =
  (subject: WholeResponsesSubject) =>
  async (body: Buffer): Promise<void> => {
    const original = parse(body.toString())
    for (const protocol of protocols) {
      const whole = subject.whole[protocol](context, body)
      const streamed = subject.streamed[protocol](context, body)
      if (Either.isLeft(whole)) {
        must(Either.isLeft(streamed), `${protocol}: streams a response that is refused as a whole`)
        continue
      }
      if (Either.isLeft(streamed)) {
        must(isUnstreamable(whole.right, streamed.left), `${protocol}: cannot stream: ${JSON.stringify(streamed.left)}`)
        continue
      }
      must(original !== undefined, `${protocol}: accepts a response that is not a JSON object`)
      const written = textOf(whole.right)
      mustBe(parse(written), expectedOf[protocol](original, parse(written)), `${protocol}: the body for the client`)
      const stream = await checkClientStream(protocol, streamed.right.frames)
      must(stream.isComplete, `${protocol}: the stream of a whole response is not complete`)
      mustEqual(sorted(streamed.right.content), sorted(whole.right.content()), `${protocol}: the billed content`)
      // The last event of a responses stream contains also content for which there is no delta.
      if (protocol !== "responses") mustEqual(stream.content, streamed.right.content, `${protocol}: the content`)
    }
    checkSplice(subject, body)
    checkEmbeddings(subject, body, original)
    checkImage(subject, body)
  }

/**
 * An accepted whole response may fail as a stream if it has no content, because another provider may respond with
 * content, or if a choice has a wrong index, because only the chunks of a stream need this index.
 */
const isUnstreamable = ({ content }: TranslatedResponse, failure: ResponseFailure): boolean =>
  content() === "" || (failure._tag === "UpstreamFailed" && failure.cause === "a choice has an invalid index")

/** The expected body, from the provider's response and the written body. Chat is compared with its splice instead. */
const expectedOf: { readonly [P in StreamedProtocol]: (original: JsonObject, written: unknown) => unknown } = {
  chat: (_, written) => written,
  messages: (original) => plain(redactedMessage(original, publicNamesOf(context))),
  responses: (original) => plain(redactedResponse(original, context))
}

const checkSplice = ({ spliced, whole }: WholeResponsesSubject, body: Buffer): void => {
  const quick = spliced(context, body)
  if (quick === undefined) return
  const parsed = whole.chat(context, body)
  must(Either.isRight(parsed), "chat: the splice accepts a completion that the parser refuses")
  mustBe(parse(textOf(quick)), parse(textOf(parsed.right)), "chat: the spliced body")
  mustEqual(quick.content(), parsed.right.content(), "chat: the content of the spliced body")
  must(isDeepStrictEqual(quick.usage, parsed.right.usage), "chat: the usage of the spliced body")
}

const checkEmbeddings = (
  { embeddings }: WholeResponsesSubject,
  body: Buffer,
  original: JsonObject | undefined
): void => {
  const items = asArray(original?.data)
  const rewritten = embeddings(context, items.length, body)
  if (Either.isLeft(rewritten)) return
  must(original !== undefined, "embeddings: accepts a response that is not a JSON object")
  const written = asArray(parse(textOf(rewritten.right))?.data).map((item) => asObject(item)?.embedding)
  mustBe(
    written,
    items.map((item) => asObject(item)?.embedding),
    "embeddings: the vectors"
  )
}

const checkImage = ({ image }: WholeResponsesSubject, body: Buffer): void => {
  const original = parse(body.toString())
  const written = image(Buffer.from(body))
  if (written === undefined) return
  const b64 = (response: JsonObject | undefined) => asObject(asArray(response?.data)[0])?.b64_json
  const response = parse(written.toString())
  must(response !== undefined, "images: the body is not a JSON object")
  must(typeof b64(response) === "string" && b64(response) !== "", "images: the body has no image")
  mustEqual(b64(response), b64(original), "images: the image")
}

/** Returns the characters in order, because a stream can send the parts of a block in another order. */
const sorted = (text: string): string => [...text].sort().join("")

const textOf = ({ body, encoding }: TranslatedResponse): string => Buffer.from(body, encoding).toString()

const parse = (text: string): JsonObject | undefined => {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return undefined
  }
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const mustBe = (found: unknown, expected: unknown, what: string): void => {
  if (!isDeepStrictEqual(found, expected)) mustEqual(found, expected, what)
}

const numbers = FastCheck.array(FastCheck.constantFrom("0", "-1.50", "1e-7", "0.123456789012345678901"), {
  maxLength: 3
})
const vector = FastCheck.oneof(
  numbers.map((it) => `[${it}]`),
  FastCheck.constantFrom('"AAAA"', '"\\/\\/8="', '""')
)
const embedding = objectWith({ index: FastCheck.nat(3).map(String), embedding: vector })
const embeddings = objectWith({
  data: FastCheck.array(embedding, { minLength: 1, maxLength: 3 }).map((items) => `[${items}]`),
  usage: FastCheck.constantFrom('{"prompt_tokens":3}', '{"total_tokens":1e9}')
})
const picture = objectWith({ b64_json: FastCheck.constantFrom('"AAAA"', '"AA=="', '"\\/\\/8="', '"A"', '""') })
const images = objectWith({
  data: FastCheck.array(picture, { minLength: 1, maxLength: 2 }).map((items) => `[${items}]`),
  size: FastCheck.constantFrom('"auto"', '"1x1"', '"x"'),
  usage: FastCheck.constantFrom('{"input_tokens":3,"output_tokens":4,"input_tokens_details":{"text_tokens":3}}', "null")
})

export const wholeResponsesTarget = (subject: WholeResponsesSubject): FuzzTarget => ({
  name: "whole-responses",
  grammar: FastCheck.oneof(
    { weight: 3, arbitrary: providerResponse("chat") },
    { weight: 2, arbitrary: providerResponse("messages") },
    { weight: 2, arbitrary: providerResponse("responses") },
    { weight: 2, arbitrary: FastCheck.oneof(embeddings, images).map((text) => Buffer.from(text)) },
    { weight: 1, arbitrary: jsonText.map((text) => Buffer.from(text)) }
  ),
  words: [
    ...[
      '"choices":',
      '"message":{',
      '"content":"',
      '"usage":{',
      '"error":null,',
      '"tool_calls":[]',
      '"b64_json":"AAAA"'
    ],
    ...['"embedding":[1.50]', '"data":[', '"type":"message",', '"output":[],', '"index":1,', '"\\u0063ontent":"x",']
  ],
  testInputs: 300,
  open: pure(check(subject))
})
