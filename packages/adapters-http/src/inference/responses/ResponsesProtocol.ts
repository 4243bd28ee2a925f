/**
 * The responses protocol, as the relay speaks it.
 */
import { usageOf } from "@tollgate/domain/inference/ResponsesDelivered"
import { errorBody } from "../../wire/InferenceErrors.ts"
import { refusalOfStatus } from "../../wire/UpstreamRefusal.ts"
import type { RelayProtocol } from "../relay/RelayProtocol.ts"
import { responsesAnswer, responsesAnswerAsStream } from "./ResponsesBody.ts"
import { errorFrame } from "./ResponsesFailure.ts"
import { type ResponsesRequest, readResponsesRequest, responsesBodyFor } from "./ResponsesRequest.ts"
import { ResponsesStream } from "./ResponsesStream.ts"

export const responsesProtocol: RelayProtocol<ResponsesRequest> = {
  protocol: "responses",
  upstreamPath: "/responses",
  read: readResponsesRequest,
  bodyFor: responsesBodyFor,
  // Nothing of the client's headers is a supplier's business; answers are read here, so they come uncompressed.
  headersFor: (_clientHeaders, streamed) => ({
    "content-type": "application/json",
    accept: streamed ? "text/event-stream" : "application/json",
    "accept-encoding": "identity"
  }),
  stream: (_request, context) => new ResponsesStream(context),
  answer: (_request, context, body) => responsesAnswer(context, body),
  answerAsStream: (_request, context, body) => responsesAnswerAsStream(context, body),
  usageOf: ({ usage }) => usageOf(usage),
  refusal: refusalOfStatus,
  errorBody: (error, requestId) => errorBody(error, requestId, "openai"),
  errorFrames: (error, requestId) => errorFrame(error, 0, requestId)
}
