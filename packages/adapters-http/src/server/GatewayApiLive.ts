/**
 * Implements {@link GatewayApi}: a new group is declared there and its layer is added here.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiSwagger from "@effect/platform/HttpApiSwagger"
import { RouteNotFound } from "@effect/platform/HttpServerError"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Models from "../catalog/Models.ts"
import * as Balances from "../customer/Balances.ts"
import * as Customers from "../customer/Customers.ts"
import * as Usage from "../customer/Usage.ts"
import * as SmallBodies from "../http/SmallBodies.ts"
import * as ImagesRoutes from "../images/ImagesRoutes.ts"
import * as StoredResponsesRoutes from "../inference/responses/StoredResponsesRoutes.ts"
import * as Mints from "../mint/Mints.ts"
import * as RankingsFeed from "../rankings/RankingsFeed.ts"
import * as RankingsPage from "../rankings/RankingsPage.ts"
import * as Account from "../reseller/Account.ts"
import * as Authentication from "../reseller/Authentication.ts"
import * as PaymentWebhooks from "../topup/PaymentWebhooks.ts"
import * as QrPictures from "../topup/QrPictures.ts"
import * as TopUps from "../topup/TopUps.ts"
import * as ApiListener from "./ApiListener.ts"
import * as Fallbacks from "./Fallbacks.ts"
import { GatewayApi } from "./GatewayApi.ts"
import * as Operations from "./Operations.ts"

const notFound = ({ request }: { readonly request: HttpServerRequest }) => Effect.die(new RouteNotFound({ request }))

/**
 * The relay takes the requests of these groups before the router does. A request that still arrives here has a path that
 * only resembles one of theirs (doubled slashes, escapes). The 404 names the right path.
 */
const relayed = Layer.mergeAll(
  HttpApiBuilder.group(GatewayApi, "chat", (handlers) => handlers.handleRaw("createChatCompletion", notFound)),
  HttpApiBuilder.group(GatewayApi, "messages", (handlers) =>
    handlers.handleRaw("createMessage", notFound).handleRaw("countMessageTokens", notFound)
  ),
  HttpApiBuilder.group(GatewayApi, "responses", (handlers) => handlers.handleRaw("createResponse", notFound))
)

const reseller = Layer.mergeAll(
  Authentication.layer,
  Account.layer,
  TopUps.layer,
  Mints.layer,
  Customers.layer,
  Balances.layer,
  Usage.layer,
  QrPictures.layer,
  PaymentWebhooks.layer
).pipe(Layer.provide(SmallBodies.layer))

const routes = Layer.mergeAll(
  relayed,
  reseller,
  ImagesRoutes.layer,
  Models.layer,
  RankingsFeed.layer,
  RankingsPage.layer,
  StoredResponsesRoutes.layer,
  Operations.layer
)

const DOCUMENTATION_PAGE = "/docs"
const SPECIFICATION = "/openapi.json"
/** The page contains its script and styles: it loads nothing from other hosts. */
const documentation = Layer.merge(
  HttpApiSwagger.layer({ path: DOCUMENTATION_PAGE }),
  HttpApiBuilder.middlewareOpenApi({ path: SPECIFICATION })
)
const undeclaredPaths = [DOCUMENTATION_PAGE, SPECIFICATION, ...RankingsPage.paths]

export const layer = Layer.mergeAll(
  documentation,
  Fallbacks.layer(
    GatewayApi,
    undeclaredPaths.map((path) => ({ method: "GET", path }))
  )
).pipe(
  Layer.provideMerge(HttpApiBuilder.api(GatewayApi).pipe(Layer.provide(routes))),
  Layer.provideMerge(ApiListener.layerContext)
)
