/**
 * The messages protocol, as the relay speaks it.
 */
import { noFigures, reportedBy, withFigures } from "@tollgate/domain/inference/MessagesDelivered"
import { errorBody, errorObject } from "../../wire/InferenceErrors.ts"
import { refusalOfStatus } from "../../wire/UpstreamRefusal.ts"
import type { AnswerContext, RelayProtocol } from "../relay/RelayProtocol.ts"
import { messagesHeadersFor } from "./MessagesHeaders.ts"
import { type MessagesRequest, messagesBodyFor, readMessagesRequest } from "./MessagesRequest.ts"
import { messagesAnswer, messagesAnswerAsStream } from "./MessagesResponse.ts"
import { MessagesStream } from "./MessagesStream.ts"
import type { OurNames } from "./ProviderTraces.ts"

export const messagesProtocol: RelayProtocol<MessagesRequest> = {
  protocol: "messages",
  upstreamPath: "/messages",
  read: readMessagesRequest,
  bodyFor: messagesBodyFor,
  headersFor: messagesHeadersFor,
  stream: (_request, context) => new MessagesStream(namesOf(context)),
  answer: (_request, context, body) => messagesAnswer(namesOf(context), body),
  answerAsStream: (_request, context, body) => messagesAnswerAsStream(namesOf(context), body),
  usageOf: ({ usage }) => reportedBy(withFigures(noFigures, usage)),
  refusal: refusalOfStatus,
  errorBody: (error, requestId) => errorBody(error, requestId, "anthropic"),
  errorFrames: (error, requestId) =>
    `event: error\ndata: ${JSON.stringify({ type: "error", error: errorObject(error, "anthropic"), request_id: requestId })}\n\n`
}

const namesOf = ({ id, publicName }: AnswerContext): OurNames => ({
  publicName,
  messageId: id.replace(/^chatcmpl-/, "msg_")
})
