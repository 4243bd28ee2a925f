/**
 * `embeddingsProtocol` describes the embeddings protocol to the relay. The protocol has no streams, and only the prompt
 * is charged.
 */
import { usageOf } from "@tollgate/domain/inference/EmbeddingsPrompt"
import { errorBody } from "../../wire/InferenceErrors.ts"
import { refusalOfStatus } from "../../wire/UpstreamRefusal.ts"
import type { RelayProtocol } from "../relay/RelayProtocol.ts"
import { jsonHeaders, withUpstreamModel } from "../relay/UpstreamRequestParts.ts"
import { type EmbeddingsRequest, readEmbeddingsRequest } from "./EmbeddingsRequest.ts"
import { translatedResponse } from "./EmbeddingsResponse.ts"

export const embeddingsProtocol: RelayProtocol<EmbeddingsRequest> = {
  protocol: "embeddings",
  path: "/v1/embeddings",
  upstreamPath: "/embeddings",
  read: readEmbeddingsRequest,
  bodyFor: withUpstreamModel,
  // No header of the client is passed on to the provider.
  headersFor: () => jsonHeaders(false),
  translate: ({ inputs }, context, body) => translatedResponse(context, inputs, body),
  usageOf: ({ usage }) => usageOf(usage),
  refusal: refusalOfStatus,
  errorBody: (error, requestId) => errorBody(error, requestId, "openai")
}
