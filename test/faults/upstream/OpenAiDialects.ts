/**
 * Sends chat and responses requests with OpenAI's official client, for the fault suite.
 */
import OpenAI, { APIError } from "openai"
import { type Caller, type Dialect, QUESTION, type Raised, type ReceivedResult } from "./Dialect.ts"

const types = {
  invalid_request: "invalid_request_error",
  request_too_large: "invalid_request_error",
  technical_limit: "rate_limit_error",
  upstream_error: "server_error"
}

const clientOf = (gatewayUrl: string, apiKey: string) =>
  new OpenAI({ baseURL: `${gatewayUrl}/v1`, apiKey, maxRetries: 0 })

const raised = (error: unknown): Raised | undefined =>
  error instanceof APIError
    ? {
        requestId: error.requestID,
        status: error.status,
        code: error.code,
        type: error.type,
        retryAfter: error.headers?.get("retry-after") ?? undefined
      }
    : undefined

export const chatDialect: Dialect = {
  protocol: "chat",
  path: "/v1/chat/completions",
  types,
  callerOf: (gatewayUrl, key): Caller => {
    const client = clientOf(gatewayUrl, key)
    const messages = [{ role: "user" as const, content: QUESTION }]
    const recordUsage = (received: ReceivedResult, usage: OpenAI.CompletionUsage | null | undefined) => {
      received.usage = usage ? [usage.prompt_tokens, usage.completion_tokens] : undefined
    }
    return {
      requestWhole: async (model, received) => {
        const { data, request_id } = await client.chat.completions.create({ model, messages }).withResponse()
        received.requestId = request_id ?? ""
        received.text = data.choices[0]?.message.content ?? ""
        recordUsage(received, data.usage)
      },
      requestStream: async (model, received, onEvent) => {
        const request = { model, messages, stream: true as const, stream_options: { include_usage: true } }
        const { data, request_id } = await client.chat.completions.create(request).withResponse()
        received.requestId = request_id ?? ""
        for await (const chunk of data) {
          onEvent()
          received.text += chunk.choices[0]?.delta.content ?? ""
          recordUsage(received, chunk.usage)
        }
      },
      raised
    }
  }
}

export const responsesDialect: Dialect = {
  protocol: "responses",
  path: "/v1/responses",
  types,
  callerOf: (gatewayUrl, key): Caller => {
    const client = clientOf(gatewayUrl, key)
    /** Stores the usage. The gateway omits invalid token counts, so members of the usage can be missing. */
    const recordUsage = (
      received: ReceivedResult,
      usage: Partial<OpenAI.Responses.ResponseUsage> | null | undefined
    ) => {
      const { input_tokens, output_tokens } = usage ?? {}
      received.usage =
        input_tokens === undefined || output_tokens === undefined ? undefined : [input_tokens, output_tokens]
    }
    return {
      requestWhole: async (model, received) => {
        const { data, request_id } = await client.responses.create({ model, input: QUESTION }).withResponse()
        received.requestId = request_id ?? ""
        received.text = data.output_text
        recordUsage(received, data.usage)
      },
      requestStream: async (model, received, onEvent) => {
        const request = { model, input: QUESTION, stream: true as const }
        const { data, request_id } = await client.responses.create(request).withResponse()
        received.requestId = request_id ?? ""
        for await (const event of data) {
          onEvent()
          if (event.type === "response.output_text.delta") received.text += event.delta
          if (event.type === "response.completed") recordUsage(received, event.response.usage)
        }
      },
      raised
    }
  }
}
