/**
 * `chatProtocol` describes the chat-completions protocol to the relay.
 */
import { usageOf } from "@tollgate/domain/inference/ChatDelivered"
import { errorBody, errorObject } from "../../wire/InferenceErrors.ts"
import { refusalOfStatus } from "../../wire/UpstreamRefusal.ts"
import type { StreamingProtocol } from "../relay/RelayProtocol.ts"
import { jsonHeaders } from "../relay/UpstreamRequestParts.ts"
import { type ChatRequest, chatBodyFor, readChatRequest } from "./ChatRequest.ts"
import { responseAsStream, translatedResponse } from "./ChatResponse.ts"
import { ChatStream } from "./ChatStream.ts"

export const chatProtocol: StreamingProtocol<ChatRequest> = {
  protocol: "chat",
  path: "/v1/chat/completions",
  upstreamPath: "/chat/completions",
  read: readChatRequest,
  bodyFor: chatBodyFor,
  // No header of the client is passed on to the provider.
  headersFor: (_clientHeaders, streamed) => jsonHeaders(streamed),
  translate: (_request, context, body) => translatedResponse(context, body),
  usageOf: ({ usage }) => usageOf(usage),
  refusal: refusalOfStatus,
  errorBody: (error, requestId) => errorBody(error, requestId, "openai"),
  stream: {
    translator: ({ includeUsage }, context) => new ChatStream(includeUsage, context),
    fromWholeResponse: ({ includeUsage }, context, body) => responseAsStream(includeUsage, context, body),
    errorFrames: (error) => `data: ${JSON.stringify({ error: errorObject(error, "openai") })}\n\n`
  }
}
