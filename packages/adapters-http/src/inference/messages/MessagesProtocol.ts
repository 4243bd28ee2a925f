/**
 * `messagesProtocol` describes the messages protocol to the relay.
 */
import { mergeCounts, noCounts, reportedBy } from "@tollgate/domain/inference/MessagesDelivered"
import { errorBody, errorObject } from "../../wire/InferenceErrors.ts"
import { refusalOfStatus } from "../../wire/UpstreamRefusal.ts"
import type { StreamingProtocol } from "../relay/RelayProtocol.ts"
import { withUpstreamModel } from "../relay/UpstreamRequestParts.ts"
import { type MessagesRequest, messagesHeadersFor, readMessagesRequest } from "./MessagesRequest.ts"
import { responseAsStream, translatedResponse } from "./MessagesResponse.ts"
import { MessagesStream } from "./MessagesStream.ts"

export const messagesProtocol: StreamingProtocol<MessagesRequest> = {
  protocol: "messages",
  path: "/v1/messages",
  upstreamPath: "/messages",
  read: readMessagesRequest,
  bodyFor: withUpstreamModel,
  headersFor: messagesHeadersFor,
  translate: (_request, context, body) => translatedResponse(context, body),
  usageOf: ({ usage }) => reportedBy(mergeCounts(noCounts, usage)),
  refusal: refusalOfStatus,
  errorBody: (error, requestId) => errorBody(error, requestId, "anthropic"),
  stream: {
    translator: (_request, context) => new MessagesStream(context),
    fromWholeResponse: (_request, context, body) => responseAsStream(context, body),
    errorFrames: (error, requestId) =>
      `event: error\ndata: ${JSON.stringify({ type: "error", error: errorObject(error, "anthropic"), request_id: requestId })}\n\n`
  }
}
