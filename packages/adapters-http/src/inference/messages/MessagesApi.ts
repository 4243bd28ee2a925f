/**
 * This file declares `POST /v1/messages` and `POST /v1/messages/count_tokens` for the OpenAPI document. Members of a
 * request that are not declared here are sent to the provider too.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { requiresApiKey } from "../../openapi/GatewayDocument.ts"
import { refusal, relayRefusals, streamError, withEventStream } from "../../openapi/InferenceDocs.ts"

const otherMembers = { key: Schema.String, value: Schema.Unknown }

const model = Schema.String.annotations({ description: "The public name of a model, from GET /v1/models." })

const messages = Schema.NonEmptyArray(
  Schema.Struct(
    {
      role: Schema.String,
      content: Schema.Unknown.annotations({ description: "Text, or a list of blocks such as text and images." })
    },
    otherMembers
  )
)

const system = Schema.optional(Schema.Unknown).annotations({ description: "Text, or a list of text blocks." })

const otherMembersPass = "Any other member is passed on to the provider unchanged."

const MessageRequest = Schema.Struct(
  {
    model,
    messages,
    max_tokens: Schema.Int.pipe(Schema.nonNegative()).annotations({
      description: "The maximum number of tokens in the response. 0 fills the prompt cache of the provider."
    }),
    system,
    stream: Schema.optional(Schema.Boolean).annotations({
      description: "If true, the response is an event stream."
    })
  },
  otherMembers
).annotations({
  identifier: "MessageRequest",
  description: otherMembersPass,
  examples: [{ model: "demo-chat", max_tokens: 1024, messages: [{ role: "user", content: "Hello" }], stream: true }]
})

const Message = Schema.Struct(
  {
    id: Schema.String,
    type: Schema.Literal("message"),
    role: Schema.Literal("assistant"),
    model: Schema.String,
    content: Schema.Array(Schema.Struct({ type: Schema.String }, otherMembers)),
    stop_reason: Schema.NullOr(Schema.String),
    usage: Schema.optional(
      Schema.NullOr(Schema.Struct({ input_tokens: Schema.Int, output_tokens: Schema.Int }, otherMembers))
    ).annotations({
      description: "The usage that the provider reports. Without a report, a `message_start` event has zeros."
    })
  },
  otherMembers
).annotations({
  identifier: "Message",
  examples: [
    {
      id: "msg_019a9f0e8d3b7c6e8f1a2b3c4d5e6f70",
      type: "message",
      role: "assistant",
      model: "demo-chat",
      content: [{ type: "text", text: "Hello!" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 8, output_tokens: 2 }
    }
  ]
})

const eventSchema = {
  description:
    "An event of a streamed message. Members of the provider's events are passed on, except those that identify it.",
  type: "object",
  required: ["type"],
  properties: {
    type: {
      type: "string",
      examples: ["message_start", "content_block_delta", "message_delta", "message_stop", "ping", "error"]
    },
    index: { type: "integer", description: "The index of the content block." },
    message: { $ref: "#/components/schemas/Message" },
    content_block: { type: "object" },
    delta: { type: "object" },
    usage: { type: "object" },
    error: streamError
  }
}

const stream = withEventStream({
  eventName: "MessageStreamEvent",
  eventSchema,
  description:
    "The stream consists of the events from `message_start` to `message_stop`, each with an `event:` line. `ping` " +
    "events can occur between them. While no event is sent, a comment line is sent regularly, by default every 15 " +
    "seconds. A failure after the first byte is reported by an `error` event; in this case no `message_stop` follows.",
  example: [
    'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_019a","type":"message","role":"assistant",' +
      '"model":"demo-chat","content":[],"stop_reason":null,"usage":{"input_tokens":8,"output_tokens":1}}}',
    "event: content_block_start\n" +
      'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    "event: content_block_delta\n" +
      'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello!"}}',
    'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}',
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},' +
      '"usage":{"output_tokens":2}}',
    'event: message_stop\ndata: {"type":"message_stop"}'
  ]
})

const createMessage = HttpApiEndpoint.post("createMessage", "/v1/messages")
  .setPayload(MessageRequest)
  .addSuccess(Message)
  .addError(relayRefusals)
  .annotateContext(
    OpenApi.annotations({
      summary: "Create a message in Anthropic's protocol",
      description:
        "The headers `anthropic-version` and `anthropic-beta` are passed on to the provider. The request is charged to " +
        "the token plan for the model first, then to the pay-as-you-go balance. If a stream is cut, the prompt and the " +
        "delivered output are charged, or nothing if no output was delivered.",
      override: requiresApiKey,
      transform: stream
    })
  )

const CountRequest = Schema.Struct({ model, messages, system }, otherMembers).annotations({
  identifier: "MessageCountRequest",
  description: otherMembersPass,
  examples: [{ model: "demo-chat", messages: [{ role: "user", content: "Hello" }] }]
})

const Count = Schema.Struct({ input_tokens: Schema.Int }).annotations({
  identifier: "MessageTokenCount",
  examples: [{ input_tokens: 8 }]
})

const countMessageTokens = HttpApiEndpoint.post("countMessageTokens", "/v1/messages/count_tokens")
  .setPayload(CountRequest)
  .addSuccess(Count)
  .addError(refusal(400, "invalid_request"))
  .addError(refusal(401, "invalid_api_key"))
  .addError(refusal(402, "insufficient_balance"))
  .addError(refusal(404, "model_not_found"))
  .addError(refusal(413, "request_too_large"))
  .addError(refusal(503, "overloaded"))
  .annotateContext(
    OpenApi.annotations({
      summary: "Count the tokens of a message request",
      description:
        "Returns the provider's count, or an estimate if the provider returns no count. Counts are free of charge. A body above " +
        "64 KiB is read only if the customer has funds.",
      override: requiresApiKey
    })
  )

export class MessagesApi extends HttpApiGroup.make("messages")
  .add(createMessage)
  .add(countMessageTokens)
  .annotateContext(
    OpenApi.annotations({
      title: "Messages",
      description: "Anthropic's messages protocol."
    })
  ) {}
