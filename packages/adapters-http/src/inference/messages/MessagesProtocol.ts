/**
 * The messages protocol, as the relay speaks it.
 */
import { withoutHyphens } from "@tollgate/domain/inference/InferenceRequest"
import { noFigures, reportedBy, withFigures } from "@tollgate/domain/inference/MessagesDelivered"
import { errorBody, errorObject } from "../../wire/InferenceErrors.ts"
import { refusalOfStatus } from "../../wire/UpstreamRefusal.ts"
import type { ResponseContext, StreamingProtocol } from "../relay/RelayProtocol.ts"
import { messagesHeadersFor } from "./MessagesHeaders.ts"
import { type MessagesRequest, messagesBodyFor, readMessagesRequest } from "./MessagesRequest.ts"
import { messagesAnswer, messagesAnswerAsStream } from "./MessagesResponse.ts"
import { MessagesStream } from "./MessagesStream.ts"
import type { OurNames } from "./ProviderTraces.ts"

export const messagesProtocol: StreamingProtocol<MessagesRequest> = {
  protocol: "messages",
  path: "/v1/messages",
  upstreamPath: "/messages",
  read: readMessagesRequest,
  bodyFor: messagesBodyFor,
  headersFor: messagesHeadersFor,
  translate: (_request, context, body) => messagesAnswer(namesOf(context), body),
  usageOf: ({ usage }) => reportedBy(withFigures(noFigures, usage)),
  refusal: refusalOfStatus,
  errorBody: (error, requestId) => errorBody(error, requestId, "anthropic"),
  stream: {
    translator: (_request, context) => new MessagesStream(namesOf(context)),
    fromWholeResponse: (_request, context, body) => messagesAnswerAsStream(namesOf(context), body),
    errorFrames: (error, requestId) =>
      `event: error\ndata: ${JSON.stringify({ type: "error", error: errorObject(error, "anthropic"), request_id: requestId })}\n\n`
  }
}

const namesOf = ({ requestId, publicName }: ResponseContext): OurNames => ({
  publicName,
  messageId: `msg_${withoutHyphens(requestId)}`
})
