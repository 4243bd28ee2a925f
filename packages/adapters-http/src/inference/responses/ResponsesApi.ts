/**
 * This file declares `POST /v1/responses` for the OpenAPI document. The relay serves the route, and also passes
 * on JSON members that are not declared here.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { requiresApiKey } from "../../openapi/GatewayDocument.ts"
import { relayRefusals, withEventStream } from "../../openapi/InferenceDocs.ts"

const otherMembers = { key: Schema.String, value: Schema.Unknown }

const ResponseRequest = Schema.Struct(
  {
    model: Schema.String.annotations({ description: "The public name of a model, from GET /v1/models." }),
    input: Schema.Union(Schema.NonEmptyString, Schema.NonEmptyArray(Schema.Unknown)).annotations({
      description: "Text, or a list of items such as messages, images, tool calls and their results."
    }),
    stream: Schema.optional(Schema.NullOr(Schema.Boolean)).annotations({
      description: "If true, the response is an event stream."
    }),
    max_output_tokens: Schema.optional(Schema.NullOr(Schema.Int)).annotations({
      description: "The maximum number of tokens in the response."
    })
  },
  otherMembers
).annotations({
  identifier: "ResponseRequest",
  description:
    "Any other member is passed on to the model unchanged. `background` must not be true, because responses are not " +
    "stored and cannot be fetched later.",
  examples: [{ model: "demo-chat", input: "Hello", stream: true }]
})

const Usage = Schema.Struct(
  { input_tokens: Schema.Int, output_tokens: Schema.Int, total_tokens: Schema.Int },
  otherMembers
)

const ResponseObject = Schema.Struct(
  {
    id: Schema.String,
    object: Schema.Literal("response"),
    created_at: Schema.Int,
    model: Schema.String,
    output: Schema.Array(Schema.Struct({ type: Schema.String }, otherMembers)),
    usage: Schema.optional(Schema.NullOr(Usage))
  },
  otherMembers
).annotations({
  identifier: "Response",
  examples: [
    {
      id: "resp_019a9f0e8d3b7c6e8f1a2b3c4d5e6f70",
      object: "response",
      created_at: 1763620000,
      status: "completed",
      model: "demo-chat",
      output: [
        {
          id: "msg_019a9f0e8d3b7c6e8f1a2b3c4d5e6f71",
          type: "message",
          status: "completed",
          role: "assistant",
          content: [{ type: "output_text", text: "Hello!", annotations: [] }]
        }
      ],
      usage: { input_tokens: 8, output_tokens: 2, total_tokens: 10 }
    }
  ]
})

const event = (type: string, members: string): string => `event: ${type}\ndata: {"type":"${type}",${members}}`
const response = (status: string, rest: string): string =>
  `"response":{"id":"resp_019a","object":"response","created_at":1763620000,"status":"${status}",` +
  `"model":"demo-chat",${rest}}`

const eventSchema = {
  description:
    "An event of a streamed response. Members of the provider's events are passed on, except those that identify it.",
  type: "object",
  required: ["type"],
  properties: {
    type: {
      type: "string",
      examples: ["response.created", "response.output_text.delta", "response.completed", "error"]
    },
    response: { type: "object", description: "The response so far, in events about the whole response." },
    output_index: { type: "integer" },
    content_index: { type: "integer" },
    item_id: { type: "string" },
    delta: { description: "The new part, in the events whose type ends with `.delta`." }
  }
}

const stream = withEventStream({
  eventName: "ResponseStreamEvent",
  eventSchema,
  description:
    "The stream consists of `response.*` events, each with an `event:` line. The last event is `response.completed` " +
    "or `response.incomplete`. While no event is sent, a comment line is sent regularly, by default every 15 " +
    "seconds. A failure after the first byte is reported by a `response.failed` event, then by an `error` event.",
  example: [
    event("response.created", response("in_progress", '"output":[]')),
    event(
      "response.output_item.added",
      '"output_index":0,"item":{"id":"msg_019a","type":"message","status":"in_progress","role":"assistant","content":[]}'
    ),
    event(
      "response.content_part.added",
      '"item_id":"msg_019a","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}'
    ),
    event("response.output_text.delta", '"item_id":"msg_019a","output_index":0,"content_index":0,"delta":"Hello!"'),
    event(
      "response.completed",
      response(
        "completed",
        '"output":[{"id":"msg_019a","type":"message","status":"completed","role":"assistant",' +
          '"content":[{"type":"output_text","text":"Hello!","annotations":[]}]}],' +
          '"usage":{"input_tokens":8,"output_tokens":2,"total_tokens":10}'
      )
    )
  ]
})

const createResponse = HttpApiEndpoint.post("createResponse", "/v1/responses")
  .setPayload(ResponseRequest)
  .addSuccess(ResponseObject)
  .addError(relayRefusals)
  .annotateContext(
    OpenApi.annotations({
      summary: "Create a response in OpenAI's Responses protocol",
      description:
        "The request is charged to the token plan for the model first, then to the pay-as-you-go balance. If a stream is " +
        "cut, the prompt and the delivered output are charged, or nothing if no output was delivered. Responses are not " +
        "stored, so GET and DELETE on `/v1/responses/{id}` return 404.",
      override: requiresApiKey,
      transform: stream
    })
  )

export class ResponsesApi extends HttpApiGroup.make("responses")
  .add(createResponse)
  .annotateContext(
    OpenApi.annotations({
      title: "Responses",
      description: "OpenAI's responses protocol."
    })
  ) {}
