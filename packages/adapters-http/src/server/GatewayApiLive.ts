/**
 * Everything {@link GatewayApi} declares, served: a new group is declared there and its routes are added here.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiSwagger from "@effect/platform/HttpApiSwagger"
import { RouteNotFound } from "@effect/platform/HttpServerError"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ModelsRoutes from "../catalog/ModelsRoutes.ts"
import * as ImagesRoutes from "../images/ImagesRoutes.ts"
import * as StoredResponsesRoutes from "../inference/responses/StoredResponsesRoutes.ts"
import * as RankingsPage from "../rankings/RankingsPage.ts"
import * as RankingsRoutes from "../rankings/RankingsRoutes.ts"
import * as ResellerRoutes from "../reseller/ResellerRoutes.ts"
import * as ApiListener from "./ApiListener.ts"
import * as Fallbacks from "./Fallbacks.ts"
import { GatewayApi } from "./GatewayApi.ts"
import * as OperationsRoutes from "./OperationsRoutes.ts"

const lost = ({ request }: { readonly request: HttpServerRequest }) => Effect.die(new RouteNotFound({ request }))

/**
 * The relay takes these requests before the router sees them. What still gets here only resembles such a path, by
 * doubled slashes or escapes, and is told where to go.
 */
const relayed = Layer.mergeAll(
  HttpApiBuilder.group(GatewayApi, "chat", (handlers) => handlers.handleRaw("createChatCompletion", lost)),
  HttpApiBuilder.group(GatewayApi, "messages", (handlers) =>
    handlers.handleRaw("createMessage", lost).handleRaw("countMessageTokens", lost)
  ),
  HttpApiBuilder.group(GatewayApi, "responses", (handlers) => handlers.handleRaw("createResponse", lost))
)

const routes = Layer.mergeAll(
  relayed,
  ImagesRoutes.layer,
  ModelsRoutes.layer,
  RankingsRoutes.layer,
  RankingsPage.layer,
  ResellerRoutes.layer,
  StoredResponsesRoutes.layer,
  OperationsRoutes.layer
)

const DOCS = "/docs"
const SPECIFICATION = "/openapi.json"
/** The page carries all of its script and style: it asks nobody but us. */
const documentation = Layer.merge(
  HttpApiSwagger.layer({ path: DOCS }),
  HttpApiBuilder.middlewareOpenApi({ path: SPECIFICATION })
)
const undeclared = [...[DOCS, SPECIFICATION].map((path) => ({ method: "GET", path })), ...RankingsPage.routes]

export const layer = Layer.mergeAll(documentation, Fallbacks.layer(GatewayApi, undeclared)).pipe(
  Layer.provideMerge(HttpApiBuilder.api(GatewayApi).pipe(Layer.provide(routes))),
  Layer.provideMerge(ApiListener.layerContext)
)
