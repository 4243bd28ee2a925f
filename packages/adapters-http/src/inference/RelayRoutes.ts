/**
 * The one list of the routes that the relay serves. A new protocol is one folder and one line here.
 */
import { chatProtocol } from "./chat/ChatProtocol.ts"
import { countTokensRoute } from "./messages/CountTokensRoute.ts"
import { messagesProtocol } from "./messages/MessagesProtocol.ts"
import { type RelayRoute, relayRoute } from "./relay/Relay.ts"
import { responsesProtocol } from "./responses/ResponsesProtocol.ts"

/** Made anew for each server: the route that counts tokens bounds how many counts that server runs at once. */
export const relayRoutes = (): ReadonlyArray<RelayRoute> => [
  relayRoute(chatProtocol),
  relayRoute(messagesProtocol),
  relayRoute(responsesProtocol),
  countTokensRoute()
]
