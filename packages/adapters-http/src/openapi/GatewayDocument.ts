/**
 * Declares the parts of the OpenAPI document that belong to no single feature: the title, the description and the
 * security schemes. Removes the error responses that the library adds but the server never sends.
 *
 * {@link gateway} is an API without route groups. `server/GatewayApi.ts` adds the groups of all features to it. To
 * implement a group, a feature adds only this group to {@link gateway}, so that features do not import the server.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"

const SECURITY_SCHEMES = {
  apiKey: { type: "http", scheme: "bearer", description: "The API key of a customer." },
  xApiKey: {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description: "The API key of a customer, in the header that Anthropic's clients use."
  },
  resellerToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "The token returned by the reseller login."
  },
  operatorToken: {
    type: "http",
    scheme: "bearer",
    description: "The token of an operator session, returned for the code that `tollgate console` prints."
  }
}

/**
 * Marks an operation in the document as an operation that needs an API key. The code in `auth/` checks the key, because
 * the bearer security of `@effect/platform` accepts any authorization scheme.
 */
export const requiresApiKey = { security: [{ apiKey: [] }, { xApiKey: [] }] }

/** Marks an operation in the document as an operation that needs a reseller token. */
export const requiresResellerToken = { security: [{ resellerToken: [] }] }

/** Marks an operation in the document as an operation that needs the token of an operator session. */
export const requiresOperatorToken = { security: [{ operatorToken: [] }] }

/**
 * Error that `@effect/platform` declares for every operation. This error is never sent, because `server/Fallbacks.ts`
 * replaces it.
 */
const LIBRARY_ERROR = "HttpApiDecodeError"
const LIBRARY_SCHEMAS = [LIBRARY_ERROR, "Issue", "PropertyKey"]

interface ErrorSchema {
  readonly description?: string
  readonly $ref?: string
  readonly anyOf?: ReadonlyArray<ErrorSchema>
}

interface ErrorResponse {
  readonly description: string
  readonly content?: { readonly "application/json"?: { readonly schema: ErrorSchema } }
}

type Responses = Readonly<Record<string, ErrorResponse>>
type Paths = Readonly<Record<string, Readonly<Record<string, { readonly responses: Responses }>>>>

const completed = (specification: Record<string, unknown>): Record<string, unknown> => {
  const components = specification.components as { readonly schemas: Record<string, unknown> }
  return {
    ...specification,
    paths: mapValues(specification.paths as Paths, (methods) =>
      mapValues(methods, (operation) => ({ ...operation, responses: withoutLibraryError(operation.responses) }))
    ),
    components: {
      ...components,
      schemas: without(components.schemas, LIBRARY_SCHEMAS),
      securitySchemes: SECURITY_SCHEMES
    }
  }
}

const withoutLibraryError = ({ "400": malformed, ...others }: Responses): Responses => {
  const schema = malformed?.content?.["application/json"]?.schema
  if (malformed === undefined || schema === undefined || isLibraryError(schema)) return others
  const own = schema.anyOf?.filter((one) => !isLibraryError(one))
  const [only] = own ?? [schema]
  if (only === undefined || own?.length !== 1) return { ...others, "400": malformed }
  const description = only.description ?? malformed.description
  return { ...others, "400": { description, content: { "application/json": { schema: only } } } }
}

const isLibraryError = ({ $ref }: ErrorSchema): boolean => $ref?.endsWith(`/${LIBRARY_ERROR}`) === true

const mapValues = <A, B>(record: Readonly<Record<string, A>>, f: (value: A) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, f(value)]))

const without = (record: Record<string, unknown>, names: ReadonlyArray<string>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)))

export const gateway = HttpApi.make("gateway").annotateContext(
  OpenApi.annotations({
    title: "Inference gateway",
    version: "1",
    description:
      "A drop-in replacement for the OpenAI and Anthropic APIs: change the base URL, the API key and the model name. " +
      "Resellers use `/api/reseller` to sign up, top up their quota, and create token plans and API keys for their " +
      "customers. Every response has its request id in the header `x-request-id`.",
    transform: completed
  })
)
