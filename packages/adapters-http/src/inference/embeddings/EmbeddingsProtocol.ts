/**
 * The descriptor of the embeddings protocol. It has no streams, and its usage is the prompt alone.
 */
import { usageOf } from "@tollgate/domain/inference/EmbeddingsPrompt"
import { errorBody } from "../../wire/InferenceErrors.ts"
import { refusalOfStatus } from "../../wire/UpstreamRefusal.ts"
import type { RelayProtocol } from "../relay/RelayProtocol.ts"
import { type EmbeddingsRequest, embeddingsBodyFor, readEmbeddingsRequest } from "./EmbeddingsRequest.ts"
import { translatedResponse } from "./EmbeddingsResponse.ts"

export const embeddingsProtocol: RelayProtocol<EmbeddingsRequest> = {
  protocol: "embeddings",
  path: "/v1/embeddings",
  upstreamPath: "/embeddings",
  read: readEmbeddingsRequest,
  bodyFor: embeddingsBodyFor,
  // No header of the client is passed on. The gateway reads responses, so it accepts them only uncompressed.
  headersFor: () => ({
    "content-type": "application/json",
    accept: "application/json",
    "accept-encoding": "identity"
  }),
  translate: ({ inputs }, context, body) => translatedResponse(context, inputs, body),
  usageOf: ({ usage }) => usageOf(usage),
  refusal: refusalOfStatus,
  errorBody: (error, requestId) => errorBody(error, requestId, "openai")
}
