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

/** Adds the route of the document. The first request renders the document. */
export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const { api } = yield* HttpApi.Api
    const service = yield* ServiceTitle
    let document: Representation.Representation | undefined
    const rendered = (): Representation.Representation => {
      document ??= Representation.make(JSON.stringify(documentOf(api, service)), {
        contentType: "application/json",
        cacheControl: "no-cache"
      })
      return document
    }
    yield* router.get(
      DOCUMENT_PATH,
      Effect.map(HttpServerRequest.HttpServerRequest, (request) => Representation.respond(rendered(), request))
    )
  })
)
