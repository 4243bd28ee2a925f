/**
 * This file lists the routes that the relay serves, and the groups that declare these routes in the OpenAPI document.
 * In this package, a new inference protocol needs one folder beside this file, and entries in this file.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { RouteNotFound } from "@effect/platform/HttpServerError"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { gateway } from "../openapi/GatewayDocument.ts"
import { ChatApi } from "./chat/ChatApi.ts"
import { chatProtocol } from "./chat/ChatProtocol.ts"
import { EmbeddingsApi } from "./embeddings/EmbeddingsApi.ts"
import { embeddingsProtocol } from "./embeddings/EmbeddingsProtocol.ts"
import { countTokensRoute } from "./messages/CountTokensRoute.ts"
import { MessagesApi } from "./messages/MessagesApi.ts"
import { messagesProtocol } from "./messages/MessagesProtocol.ts"
import { type RelayRoute, relayRoute } from "./relay/Relay.ts"
import { ResponsesApi } from "./responses/ResponsesApi.ts"
import { responsesProtocol } from "./responses/ResponsesProtocol.ts"

/**
 * Creates the routes for one server. Two servers must not share routes, because the route for token counts contains the
 * limit of concurrent counts of its server.
 */
export const relayRoutes = (): ReadonlyArray<RelayRoute> => [
  relayRoute(chatProtocol),
  relayRoute(messagesProtocol),
  relayRoute(responsesProtocol),
  relayRoute(embeddingsProtocol),
  countTokensRoute()
]

export const relayGroups = gateway.add(ChatApi).add(MessagesApi).add(ResponsesApi).add(EmbeddingsApi)

const notFound = ({ request }: { readonly request: HttpServerRequest }) => Effect.die(new RouteNotFound({ request }))

/**
 * Returns 404 for a request that matches a route of these groups but was not handled by the relay.
 */
export const layer = Layer.mergeAll(
  HttpApiBuilder.group(relayGroups, "chat", (handlers) => handlers.handleRaw("createChatCompletion", notFound)),
  HttpApiBuilder.group(relayGroups, "messages", (handlers) =>
    handlers.handleRaw("createMessage", notFound).handleRaw("countMessageTokens", notFound)
  ),
  HttpApiBuilder.group(relayGroups, "responses", (handlers) => handlers.handleRaw("createResponse", notFound)),
  HttpApiBuilder.group(relayGroups, "embeddings", (handlers) => handlers.handleRaw("createEmbedding", notFound))
)
