/**
 * The one list of the routes that the relay serves, and of the groups that declare them in the OpenAPI document. A new
 * protocol is one folder and its entries here.
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

/** Made anew for each server: the route that counts tokens bounds how many counts that server runs at once. */
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
 * The relay takes the requests of these groups before the router does. A request that still arrives here has a path that
 * only resembles one of theirs (doubled slashes, escapes). The 404 names the right path.
 */
export const layer = Layer.mergeAll(
  HttpApiBuilder.group(relayGroups, "chat", (handlers) => handlers.handleRaw("createChatCompletion", notFound)),
  HttpApiBuilder.group(relayGroups, "messages", (handlers) =>
    handlers.handleRaw("createMessage", notFound).handleRaw("countMessageTokens", notFound)
  ),
  HttpApiBuilder.group(relayGroups, "responses", (handlers) => handlers.handleRaw("createResponse", notFound)),
  HttpApiBuilder.group(relayGroups, "embeddings", (handlers) => handlers.handleRaw("createEmbedding", notFound))
)
