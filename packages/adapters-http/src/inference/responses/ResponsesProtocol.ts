/**
 * The responses protocol, as the relay speaks it.
 */
import { usageOf } from "@tollgate/domain/inference/ResponsesDelivered"
import { errorBody } from "../../wire/InferenceErrors.ts"
import { refusalOfStatus } from "../../wire/UpstreamRefusal.ts"
import type { StreamingProtocol } from "../relay/RelayProtocol.ts"
import { responsesAnswer, responsesAnswerAsStream } from "./ResponsesBody.ts"
import { errorFrame } from "./ResponsesFailure.ts"
import { type ResponsesRequest, readResponsesRequest, responsesBodyFor } from "./ResponsesRequest.ts"
import { ResponsesStream } from "./ResponsesStream.ts"

export const responsesProtocol: StreamingProtocol<ResponsesRequest> = {
  protocol: "responses",
  path: "/v1/responses",
  upstreamPath: "/responses",
  read: readResponsesRequest,
  bodyFor: responsesBodyFor,
  // Nothing of the client's headers is a supplier's business; answers are read here, so they come uncompressed.
  headersFor: (_clientHeaders, streamed) => ({
    "content-type": "application/json",
    accept: streamed ? "text/event-stream" : "application/json",
    "accept-encoding": "identity"
  }),
  translate: (_request, context, body) => responsesAnswer(context, body),
  usageOf: ({ usage }) => usageOf(usage),
  refusal: refusalOfStatus,
  errorBody: (error, requestId) => errorBody(error, requestId, "openai"),
  stream: {
    translator: (_request, context) => new ResponsesStream(context),
    fromWholeResponse: (_request, context, body) => responsesAnswerAsStream(context, body),
    errorFrames: (error, requestId) => errorFrame(error, 0, requestId)
  }
}
