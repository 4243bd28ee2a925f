/**
 * `responsesProtocol` describes the responses protocol to the relay.
 */
import { usageOf } from "@tollgate/domain/inference/ResponsesDelivered"
import { errorBody } from "../../wire/InferenceErrors.ts"
import { refusalOfStatus } from "../../wire/UpstreamRefusal.ts"
import type { StreamingProtocol } from "../relay/RelayProtocol.ts"
import { jsonHeaders, withUpstreamModel } from "../relay/UpstreamRequestParts.ts"
import { errorFrame } from "./ResponsesErrors.ts"
import { type ResponsesRequest, readResponsesRequest } from "./ResponsesRequest.ts"
import { responseAsStream, translatedResponse } from "./ResponsesResponse.ts"
import { ResponsesStream } from "./ResponsesStream.ts"

export const responsesProtocol: StreamingProtocol<ResponsesRequest> = {
  protocol: "responses",
  path: "/v1/responses",
  upstreamPath: "/responses",
  read: readResponsesRequest,
  // Streams of this protocol report their usage by default, so only `model` is replaced.
  bodyFor: withUpstreamModel,
  // No header of the client is passed on to the provider.
  headersFor: (_clientHeaders, streamed) => jsonHeaders(streamed),
  translate: (_request, context, body) => translatedResponse(context, body),
  usageOf: ({ usage }) => usageOf(usage),
  refusal: refusalOfStatus,
  errorBody: (error, requestId) => errorBody(error, requestId, "openai"),
  stream: {
    translator: (_request, context) => new ResponsesStream(context),
    fromWholeResponse: (_request, context, body) => responseAsStream(context, body),
    errorFrames: (error, requestId) => errorFrame(error, 0, requestId)
  }
}
