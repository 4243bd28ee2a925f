/**
 * Declares the response headers of the OpenAPI document: the headers of every response, and headers that only some
 * responses have.
 */

/** The headers that are components of the document, by the name of the component. */
const components = {
  RequestId: {
    name: "x-request-id",
    description: "The id of the request. Report it if a request fails. The header `request-id` has the same value.",
    schema: { type: "string" }
  },
  RequestIdAlias: {
    name: "request-id",
    description: "The id of the request, under the name that Anthropic's clients read.",
    schema: { type: "string" }
  },
  NoStore: {
    name: "cache-control",
    description: "No cache may store the response.",
    schema: { type: "string", const: "no-store" }
  },
  RetryAfter: {
    name: "retry-after",
    description: "The number of seconds to wait before the next try; at least 1.",
    schema: { type: "integer", minimum: 1 }
  },
  ShouldRetry: {
    name: "x-should-retry",
    description: "Tells the clients of OpenAI and of Anthropic not to repeat the request.",
    schema: { type: "string", const: "false" }
  },
  Authenticate: {
    name: "www-authenticate",
    description: "The scheme of the `authorization` header.",
    schema: { type: "string", const: "Bearer" }
  },
  Allow: {
    name: "allow",
    description: "The methods that the path supports, separated by commas.",
    schema: { type: "string" }
  }
} as const

/**
 * The headers that an error has only in some cases. They are not components, because a reference makes a header
 * required.
 */
const optionalHeaders: Readonly<Record<string, object>> = {
  "x-ratelimit-limit-requests": {
    description: "The limit of requests per minute of the API key, if it has one.",
    schema: { type: "integer", minimum: 1 }
  },
  "x-ratelimit-remaining-requests": {
    description: "The number of requests that remain in the current rate window of the API key.",
    schema: { type: "integer", minimum: 0 }
  },
  "x-ratelimit-reset-requests": {
    description: "The time until the current rate window ends, such as `42s`.",
    schema: { type: "string", pattern: "^[0-9]+s$" }
  },
  "x-ratelimit-limit-tokens": {
    description: "The limit of tokens per minute of the API key, if it has one.",
    schema: { type: "integer", minimum: 1 }
  },
  "x-ratelimit-remaining-tokens": {
    description: "The number of tokens that remain in the current rate window of the API key.",
    schema: { type: "integer", minimum: 0 }
  },
  "x-ratelimit-reset-tokens": {
    description: "The time until the current rate window ends, such as `42s`.",
    schema: { type: "string", pattern: "^[0-9]+s$" }
  }
}

/** Name of the header with the billing status of an image, in a deployment with the default service name. */
export const DEFAULT_BILLING_HEADER = "x-tollgate-billing"

type Name = keyof typeof components
const EVERY_RESPONSE: ReadonlyArray<Name> = ["RequestId", "RequestIdAlias", "NoStore"]

/** The `headers` member of the document's components. Every header is required where a response refers to it. */
export const headerComponents: Readonly<Record<string, object>> = Object.fromEntries(
  Object.entries(components).map(([name, { description, schema }]) => [name, { description, required: true, schema }])
)

const reference = (name: Name) => ({ $ref: `#/components/headers/${name}` })

/** The headers of every response, by their names. A response can declare another `cache-control` header. */
export const commonHeaders: Readonly<Record<string, object>> = Object.fromEntries(
  EVERY_RESPONSE.map((name) => [components[name].name, reference(name)])
)

/** The headers of a response that is a file. */
export const fileHeaders: Readonly<Record<string, object>> = {
  "content-disposition": {
    description: "The name of the file.",
    required: true,
    schema: { type: "string", examples: ['attachment; filename="usage.csv"'] }
  }
}

const byHeader = new Map<string, Name>(
  (Object.keys(components) as Array<Name>).map((name) => [components[name].name, name])
)

/**
 * Returns the headers of a response that several errors share; `each` lists the headers that each error adds. A header
 * that only some of these errors have is optional.
 */
export const headerDocsOf = (
  each: ReadonlyArray<Readonly<Record<string, string>>>
): Readonly<Record<string, object>> => {
  const added: Record<string, object> = {}
  for (const header of new Set(each.flatMap(Object.keys))) {
    const optional = optionalHeaders[header]
    if (optional !== undefined) {
      added[header] = optional
      continue
    }
    const name = byHeader.get(header)
    if (name === undefined) throw new Error(`declare the response header ${header} in HeaderDocs.ts`)
    const { description, schema } = components[name]
    added[header] = each.every((headers) => header in headers) ? reference(name) : { description, schema }
  }
  return { ...commonHeaders, ...added }
}
