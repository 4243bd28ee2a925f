/**
 * Sends chat and responses requests with OpenAI's official client, for the fault suite.
 */
import OpenAI, { APIError } from "openai"
import { type Caller, type Dialect, type Heard, QUESTION, type Raised } from "./Dialect.ts"

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
    const told = (heard: Heard, usage: OpenAI.CompletionUsage | null | undefined) => {
      heard.usage = usage ? [usage.prompt_tokens, usage.completion_tokens] : undefined
    }
    return {
      answer: async (model, heard) => {
        const { data, request_id } = await client.chat.completions.create({ model, messages }).withResponse()
        heard.requestId = request_id ?? ""
        heard.text = data.choices[0]?.message.content ?? ""
        told(heard, data.usage)
      },
      stream: async (model, heard, hear) => {
        const asked = { model, messages, stream: true as const, stream_options: { include_usage: true } }
        const { data, request_id } = await client.chat.completions.create(asked).withResponse()
        heard.requestId = request_id ?? ""
        for await (const chunk of data) {
          hear()
          heard.text += chunk.choices[0]?.delta.content ?? ""
          told(heard, chunk.usage)
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
    const told = (heard: Heard, usage: Partial<OpenAI.Responses.ResponseUsage> | null | undefined) => {
      const { input_tokens, output_tokens } = usage ?? {}
      heard.usage =
        input_tokens === undefined || output_tokens === undefined ? undefined : [input_tokens, output_tokens]
    }
    return {
      answer: async (model, heard) => {
        const { data, request_id } = await client.responses.create({ model, input: QUESTION }).withResponse()
        heard.requestId = request_id ?? ""
        heard.text = data.output_text
        told(heard, data.usage)
      },
      stream: async (model, heard, hear) => {
        const asked = { model, input: QUESTION, stream: true as const }
        const { data, request_id } = await client.responses.create(asked).withResponse()
        heard.requestId = request_id ?? ""
        for await (const event of data) {
          hear()
          if (event.type === "response.output_text.delta") heard.text += event.delta
          if (event.type === "response.completed") told(heard, event.response.usage)
        }
      },
      raised
    }
  }
}
