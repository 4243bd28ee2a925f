/**
 * Sends messages requests with Anthropic's official client, for the fault suite.
 */
import Anthropic, { APIError } from "@anthropic-ai/sdk"
import { type Caller, type Dialect, QUESTION, type Raised } from "./Dialect.ts"

interface ErrorBody {
  readonly error?: { readonly type?: string; readonly details?: { readonly error_code?: string } }
}

const raised = (error: unknown): Raised | undefined => {
  if (!(error instanceof APIError)) return undefined
  const body = (error.error as ErrorBody | undefined)?.error
  return {
    requestId: error.requestID,
    status: error.status,
    code: body?.details?.error_code,
    type: body?.type,
    retryAfter: error.headers?.get("retry-after") ?? undefined
  }
}

/** Returns all prompt tokens. `input_tokens` does not include cache reads and cache writes. */
const promptOf = (usage: Anthropic.Usage): number =>
  usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)

export const messagesDialect: Dialect = {
  protocol: "messages",
  path: "/v1/messages",
  types: {
    invalid_request: "invalid_request_error",
    request_too_large: "invalid_request_error",
    technical_limit: "rate_limit_error",
    upstream_error: "api_error"
  },
  callerOf: (gatewayUrl, apiKey): Caller => {
    const client = new Anthropic({ baseURL: gatewayUrl, apiKey, maxRetries: 0 })
    const request = { max_tokens: 100, messages: [{ role: "user" as const, content: QUESTION }] }
    return {
      requestWhole: async (model, received) => {
        const { data, request_id } = await client.messages.create({ model, ...request }).withResponse()
        received.requestId = request_id ?? ""
        received.text = data.content.map((block) => (block.type === "text" ? block.text : "")).join("")
        received.usage = data.usage ? [promptOf(data.usage), data.usage.output_tokens] : undefined
      },
      requestStream: async (model, received, onEvent) => {
        const { data, request_id } = await client.messages.create({ model, ...request, stream: true }).withResponse()
        received.requestId = request_id ?? ""
        let prompt = 0
        for await (const event of data) {
          onEvent()
          if (event.type === "message_start") prompt = promptOf(event.message.usage)
          if (event.type === "content_block_delta" && event.delta.type === "text_delta")
            received.text += event.delta.text
          if (event.type === "message_delta") received.usage = [prompt, event.usage.output_tokens]
        }
      },
      raised
    }
  }
}
