/**
 * Declares the parts of the OpenAPI document that belong to no single feature: the title, the description, and the
 * marks for the required credentials.
 *
 * {@link gateway} is an API without route groups. `server/GatewayApi.ts` and `inference/RelayRoutes.ts` add the groups
 * of all features to it. To implement its groups, a feature adds only these groups to {@link gateway}, so that features
 * do not import the server.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import { completedDocument } from "./CompletedDocument.ts"

/**
 * Marks an operation in the document as an operation that needs an API key. The code in `auth/` checks the key, because
 * the bearer security of `@effect/platform` accepts any authorization scheme.
 */
export const requiresApiKey = { security: [{ apiKey: [] }, { xApiKey: [] }] }

/** Marks an operation in the document as an operation that needs a reseller token. */
export const requiresResellerToken = { security: [{ resellerToken: [] }] }

/** Marks an operation in the document as an operation that needs the token of an operator session. */
export const requiresOperatorToken = { security: [{ operatorToken: [] }] }

export const gateway = HttpApi.make("gateway").annotateContext(
  OpenApi.annotations({
    title: "Inference gateway",
    version: "1",
    description:
      "A drop-in replacement for the OpenAI and Anthropic APIs: change the base URL, the API key and the model name. " +
      "Resellers use `/api/reseller` to sign up, top up their quota, and create token plans and API keys for their " +
      "customers. Every response has its request id in the header `x-request-id`.",
    transform: completedDocument
  })
)
