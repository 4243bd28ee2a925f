/**
 * This file declares `POST /v1/chat/completions` for the OpenAPI document. The relay serves the route, and also
 * passes on JSON members that are not declared here.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { requiresApiKey } from "../../openapi/GatewayDocument.ts"
import { relayRefusals, withEventStream } from "../../openapi/InferenceDocs.ts"

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
    stream: Schema.optional(Schema.Boolean).annotations({
      description: "If true, the response is an event stream."
    }),
    stream_options: Schema.optional(
      Schema.Struct({
        include_usage: Schema.optional(Schema.Boolean).annotations({
          description: "If true, an additional last chunk of the stream contains the usage."
        })
      })
    )
  },
  otherMembers
).annotations({
  identifier: "ChatCompletionRequest",
  description: "Any other member is passed on to the model unchanged.",
  examples: [{ model: "gpt-5-mini", messages: [{ role: "user", content: "Hello" }], stream: true }]
})

const Usage = Schema.Struct({
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  total_tokens: Schema.Int
})

const ChatCompletion = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("chat.completion"),
  created: Schema.Int,
  model: Schema.String,
  choices: Schema.Array(
    Schema.Struct({ index: Schema.Int, message: Message, finish_reason: Schema.NullOr(Schema.String) })
  ),
  usage: Schema.optional(Usage)
}).annotations({
  identifier: "ChatCompletion",
  examples: [
    {
      id: "chatcmpl-019a9f0e8d3b7c6e8f1a2b3c4d5e6f70",
      object: "chat.completion",
      created: 1763620000,
      model: "gpt-5-mini",
      choices: [{ index: 0, message: { role: "assistant", content: "Hello!" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 }
    }
  ]
})

const stream = withEventStream({
  description:
    "The stream consists of `data:` lines with `chat.completion.chunk` objects, then `data: [DONE]`. While " +
    "there is no output, a comment line is sent regularly, by default every 15 seconds. A failure after the first byte " +
    "is reported by a `data:` line with an `error` object; in this case no `[DONE]` follows.",
  example: [
    'data: {"id":"chatcmpl-019a","object":"chat.completion.chunk","created":1763620000,"model":"gpt-5-mini",' +
      '"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello!"},"finish_reason":null}]}',
    'data: {"id":"chatcmpl-019a","object":"chat.completion.chunk","created":1763620000,"model":"gpt-5-mini",' +
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
        "The request is charged to the token plan for the model first, then to the pay-as-you-go balance. The output of a " +
        "stream is charged only if it was delivered.",
      override: requiresApiKey,
      transform: stream
    })
  )

export class ChatApi extends HttpApiGroup.make("chat").add(createChatCompletion) {}
