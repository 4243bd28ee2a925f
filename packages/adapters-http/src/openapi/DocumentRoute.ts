/**
 * Serves the OpenAPI document at `/openapi.json`. The document contains the service name of the deployment.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Representation from "../http/Representation.ts"
import { ServiceTitle } from "../http/ServiceTitle.ts"
import { DEFAULT_BILLING_HEADER } from "./HeaderDocs.ts"

export const DOCUMENT_PATH = "/openapi.json"

/** Returns the document of a deployment with this service name. */
export const documentOf = (api: HttpApi.HttpApi.Any, service: string): OpenApi.OpenAPISpec =>
  JSON.parse(
    JSON.stringify(OpenApi.fromApi(api as never)).replaceAll(DEFAULT_BILLING_HEADER, `x-${service}-billing`)
  ) as OpenApi.OpenAPISpec

export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const { api } = yield* HttpApi.Api
    const representation = Representation.make(JSON.stringify(documentOf(api, yield* ServiceTitle)), {
      contentType: "application/json",
      cacheControl: "no-cache"
    })
    yield* router.get(
      DOCUMENT_PATH,
      Effect.map(HttpServerRequest.HttpServerRequest, (request) => Representation.respond(representation, request))
    )
  })
)
