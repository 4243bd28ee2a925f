/**
 * This file declares `POST /v1/chat/completions` for the OpenAPI document. The relay serves the route, and also
 * passes on JSON members that are not declared here.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { requiresApiKey } from "../../openapi/GatewayDocument.ts"
import { relayRefusals, streamError, withEventStream } from "../../openapi/InferenceDocs.ts"

const otherMembers = { key: Schema.String, value: Schema.Unknown }

const Message = Schema.Struct(
  {
    role: Schema.String,
    content: Schema.Unknown.annotations({ description: "Text, or a list of parts such as text and images." })
  },
  otherMembers
)

const ChatCompletionRequest = Schema.Struct(
  {
    model: Schema.String.annotations({ description: "The public name of a model, from GET /v1/models." }),
    messages: Schema.NonEmptyArray(Message),
    stream: Schema.optional(Schema.NullOr(Schema.Boolean)).annotations({
      description: "If true, the response is an event stream."
    }),
    stream_options: Schema.optional(
      Schema.NullOr(
        Schema.Struct({
          include_usage: Schema.optional(Schema.NullOr(Schema.Boolean)).annotations({
            description: "If true, an additional last chunk contains the usage that the provider reports, if any."
          })
        })
      )
    )
  },
  otherMembers
).annotations({
  identifier: "ChatCompletionRequest",
  description: "Any other member is passed on to the model unchanged.",
  examples: [{ model: "demo-chat", messages: [{ role: "user", content: "Hello" }], stream: true }]
})

const TokenCounts = Schema.Record({ key: Schema.String, value: Schema.Int }).annotations({
  description: "Token counts as the provider reports them, for example `cached_tokens`."
})

const Usage = Schema.Struct({
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  total_tokens: Schema.Int,
  prompt_tokens_details: Schema.optional(TokenCounts),
  completion_tokens_details: Schema.optional(TokenCounts)
}).annotations({ identifier: "ChatUsage" })

const logprobs = Schema.optional(Schema.Unknown).annotations({
  description: "The log probabilities of the tokens, if the request asks for them and the provider returns them."
})

const FinishReason = Schema.Literal("stop", "length", "tool_calls", "content_filter", "function_call")

const CompletionMessage = Schema.Struct(
  { role: Schema.Literal("assistant"), content: Schema.optional(Schema.NullOr(Schema.Unknown)) },
  otherMembers
).annotations({
  description: "The message. Members that this document does not list, such as reasoning, are passed on."
})

const ChatCompletion = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("chat.completion"),
  created: Schema.Int,
  model: Schema.String,
  choices: Schema.Array(
    Schema.Struct({ index: Schema.Int, message: CompletionMessage, logprobs, finish_reason: FinishReason })
  ),
  usage: Schema.optional(Usage)
}).annotations({
  identifier: "ChatCompletion",
  examples: [
    {
      id: "chatcmpl-019a9f0e8d3b7c6e8f1a2b3c4d5e6f70",
      object: "chat.completion",
      created: 1763620000,
      model: "demo-chat",
      choices: [{ index: 0, message: { role: "assistant", content: "Hello!" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 }
    }
  ]
})

const eventSchema = {
  description: "A part of a streamed chat completion, or an error that ends the stream.",
  anyOf: [
    {
      type: "object",
      required: ["id", "object", "created", "model", "choices"],
      properties: {
        id: { type: "string" },
        object: { type: "string", const: "chat.completion.chunk" },
        created: { type: "integer" },
        model: { type: "string", description: "The public name of the model." },
        choices: {
          type: "array",
          items: {
            type: "object",
            required: ["index", "delta", "finish_reason"],
            properties: {
              index: { type: "integer" },
              delta: { type: "object", description: "The new part of the message." },
              logprobs: { description: "The log probabilities of the tokens." },
              finish_reason: {
                anyOf: [{ type: "string", enum: [...FinishReason.literals] }, { type: "null" }]
              }
            }
          }
        },
        usage: { anyOf: [{ $ref: "#/components/schemas/ChatUsage" }, { type: "null" }] }
      }
    },
    { type: "object", required: ["error"], properties: { error: streamError } }
  ]
}

const stream = withEventStream({
  eventName: "ChatCompletionChunk",
  eventSchema,
  description:
    "The stream consists of `data:` lines with `chat.completion.chunk` objects, then `data: [DONE]`. While " +
    "no event is sent, a comment line is sent regularly, by default every 15 seconds. A failure after the first byte " +
    "is reported by a `data:` line with an `error` object; in this case no `[DONE]` follows.",
  example: [
    'data: {"id":"chatcmpl-019a","object":"chat.completion.chunk","created":1763620000,"model":"demo-chat",' +
      '"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello!"},"finish_reason":null}]}',
    'data: {"id":"chatcmpl-019a","object":"chat.completion.chunk","created":1763620000,"model":"demo-chat",' +
      '"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    "data: [DONE]"
  ]
})

const createChatCompletion = HttpApiEndpoint.post("createChatCompletion", "/v1/chat/completions")
  .setPayload(ChatCompletionRequest)
  .addSuccess(ChatCompletion)
  .addError(relayRefusals)
  .annotateContext(
    OpenApi.annotations({
      summary: "Create a chat completion",
      description:
        "The request is charged to the token plan for the model first, then to the pay-as-you-go balance. If a stream is " +
        "cut, the prompt and the delivered output are charged, or nothing if no output was delivered.",
      override: requiresApiKey,
      transform: stream
    })
  )

export class ChatApi extends HttpApiGroup.make("chat")
  .add(createChatCompletion)
  .annotateContext(
    OpenApi.annotations({
      title: "Chat completions",
      description: "OpenAI's chat completions protocol."
    })
  ) {}
