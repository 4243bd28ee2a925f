/**
 * Completes the OpenAPI document that `@effect/platform` generates from the declared routes. Adds the common headers
 * and the error responses to every operation, and shortens the operation ids. Removes the parts that the server never
 * sends.
 *
 * A request can also get an error before its route reads it, for example 405. No operation declares these errors, so
 * the extension `x-common-responses` of the document lists them by status.
 */
import { internalError, isInferencePath, statusOf, surfaceErrorBody } from "../http/SurfaceError.ts"
import { EXAMPLE_REQUEST_ID } from "../wire/ErrorRow.ts"
import {
  COMPONENT,
  commonErrors,
  type DocumentedError,
  ERRORS,
  errorComponents,
  errorResponse,
  errorSchema,
  INFERENCE_CODES
} from "./ErrorDocs.ts"
import { commonHeaders, fileHeaders, headerComponents, headerDocsOf } from "./HeaderDocs.ts"
import { inferenceErrors, type RefusalCode } from "./InferenceDocs.ts"

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

interface Json {
  readonly [member: string]: unknown
}

interface Operation extends Json {
  readonly operationId: string
  readonly security: ReadonlyArray<Json>
  readonly responses: Readonly<Record<string, Json>>
}

/**
 * Error that `@effect/platform` declares for every operation. This error is never sent, because `server/Fallbacks.ts`
 * replaces it.
 */
const LIBRARY_ERROR = "#/components/schemas/HttpApiDecodeError"
const LIBRARY_SCHEMAS = ["HttpApiDecodeError", "Issue", "PropertyKey"]
/** Schemas of Effect whose names have no meaning for a reader. Each reference to one is replaced with the schema. */
const INLINED_SCHEMAS = ["Int", "NonEmptyString"]
/** Paths of probes, which are served while the server drains. */
const PROBES: ReadonlyArray<string> = ["/healthz", "/readyz"]

export const completedDocument = (generated: Json): Json => {
  const components = generated.components as { readonly schemas: Readonly<Record<string, Json>> }
  const hoisted: Record<string, Json> = {}
  const inlined = Object.fromEntries(
    INLINED_SCHEMAS.map((name) => [
      `#/components/schemas/${name}`,
      { type: components.schemas[name]?.type ?? "integer" }
    ])
  )
  const cleaned = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(cleaned)
    if (typeof value !== "object" || value === null) return value
    const { $id, $ref, [COMPONENT]: component, ...members } = value as Json
    // `@effect/platform` gives one `$id` to all schemas without a type. The title of such a schema repeats this id.
    const { title, ...untitled } = members
    const rest = mapValues($id === undefined ? members : untitled, cleaned)
    if (typeof component === "string") {
      hoisted[component] = rest
      return { $ref: `#/components/schemas/${component}` }
    }
    if (typeof $ref !== "string") return rest
    const inline = inlined[$ref]
    return inline === undefined ? { $ref, ...rest } : { ...inline, ...rest }
  }
  const paths = mapValues(
    cleaned(generated.paths) as Readonly<Record<string, Readonly<Record<string, Operation>>>>,
    (methods, path) => mapValues(methods, (operation) => completedOperation(path, operation, components.schemas))
  )
  const schemas = cleaned(without(components.schemas, [...LIBRARY_SCHEMAS, ...INLINED_SCHEMAS])) as Json
  return {
    openapi: generated.openapi,
    info: generated.info,
    servers: [{ url: "/", description: "The server of this document." }],
    security: [],
    tags: uniqueTags(generated.tags as ReadonlyArray<{ readonly name: string }>),
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: { ...schemas, ...hoisted, ...errorComponents },
      headers: headerComponents,
      responses: mapValues(commonErrors, commonResponse)
    },
    "x-common-responses": Object.fromEntries(
      Object.entries(commonErrors).map(([name, { code }]) => [
        statusOf({ code, message: "" }),
        { $ref: `#/components/responses/${name}` }
      ])
    )
  }
}

const completedOperation = (path: string, operation: Operation, schemas: Readonly<Record<string, Json>>): Operation => {
  const { responses: declared } = operation
  const errors = [
    ...Object.values(declared).flatMap((response) => errorsOf(path, response)),
    ...errorsOfEvery(path, operation)
  ]
  const component = isInferencePath(path) ? "InferenceError" : "ApiError"
  const responses: Record<string, Json> = {}
  for (const [status, response] of Object.entries(declared)) {
    if (Number(status) < 400 || isOwnError(response))
      responses[status] = withCommonHeaders(described(response, schemas))
  }
  for (const status of [...new Set(errors.map((error) => error.status))].sort()) {
    if (responses[status] !== undefined) continue
    const same = errors.filter((error) => error.status === status)
    responses[status] = errorResponse(component, uniqueErrors(same)) as Json
  }
  return { ...operation, operationId: operation.operationId.replace(/^.*\./, ""), responses }
}

/** Returns the errors that a declared response lists. */
const errorsOf = (path: string, response: Json): ReadonlyArray<DocumentedError> => {
  const listed = response[ERRORS] as ReadonlyArray<DocumentedError> | undefined
  return listed ?? inferenceErrors(codesIn(schemaOf(response)) as ReadonlyArray<RefusalCode>, path)
}

const codesIn = (schema: Json): ReadonlyArray<unknown> => [
  ...((schema[INFERENCE_CODES] as ReadonlyArray<unknown>) ?? []),
  ...((schema.anyOf as ReadonlyArray<Json>) ?? []).flatMap(codesIn)
]

/**
 * The errors that every operation with this path can return. Some causes are an exception in the server, a server that
 * shuts down, an unavailable database, and missing or wrong credentials on a path under `/v1`.
 */
const errorsOfEvery = (path: string, { security }: Operation): ReadonlyArray<DocumentedError> => {
  if (isInferencePath(path)) {
    const credentials = security.length > 0 ? (["invalid_api_key"] as const) : []
    return inferenceErrors([...credentials, "internal_error", "overloaded"], path)
  }
  const unexpected = plainError("internal_error", internalError.message, "An unexpected error occurred in the service.")
  if (PROBES.includes(path)) return [unexpected]
  const message = "This server is shutting down. Try again."
  const meaning = "The server is shutting down, or the database is unavailable."
  return [unexpected, plainError("overloaded", message, meaning, { "retry-after": "1" })]
}

const plainError = (
  code: "internal_error" | "overloaded",
  message: string,
  meaning: string,
  headers: Readonly<Record<string, string>> = {}
): DocumentedError => ({
  status: statusOf({ code, message }),
  code,
  meaning,
  headers,
  body: { error: { code, message, request_id: EXAMPLE_REQUEST_ID } }
})

/** Keeps one error of each code and meaning. Of the errors with the code `overloaded`, only the first is kept. */
const uniqueErrors = (errors: ReadonlyArray<DocumentedError>): ReadonlyArray<DocumentedError> =>
  errors.filter(
    ({ code, meaning }, i) =>
      !errors
        .slice(0, i)
        .some((before) => before.code === code && (before.meaning === meaning || code === "overloaded"))
  )

const schemaOf = (response: Json): Json =>
  ((response.content as Readonly<Record<string, { readonly schema: Json }>> | undefined)?.["application/json"]
    ?.schema ?? {}) as Json

/** Returns true for an error response that has its own body, such as the response of the readiness probe. */
const isOwnError = (response: Json): boolean => {
  const schema = schemaOf(response)
  return response[ERRORS] === undefined && !isReplaced(schema)
}

const isReplaced = ({ $ref, anyOf, [INFERENCE_CODES]: codes }: Json): boolean =>
  $ref === LIBRARY_ERROR || codes !== undefined || ((anyOf as ReadonlyArray<Json> | undefined) ?? []).some(isReplaced)

/** Replaces the description that `@effect/platform` makes from the name of the schema. */
const described = (response: Json, schemas: Readonly<Record<string, Json>>): Json => {
  const name = String(schemaOf(response).$ref).replace("#/components/schemas/", "")
  const { description } = response
  if (description !== name && description !== "Success") return response
  return { ...response, description: schemas[name]?.description ?? "The request succeeded." }
}

const withCommonHeaders = (response: Json): Json => ({
  ...response,
  headers: { ...commonHeaders, ...(hasFile(response) ? fileHeaders : {}), ...(response.headers as Json | undefined) }
})

const hasFile = ({ content }: Json): boolean => Object.hasOwn((content as object | undefined) ?? {}, "text/csv")

const commonResponse = ({ code, meaning }: (typeof commonErrors)[string]): object => {
  const headers: Readonly<Record<string, string>> = code === "method_not_allowed" ? { allow: "GET, HEAD" } : {}
  const bodyAt = (path: string) =>
    JSON.parse(surfaceErrorBody({ code, message: meaning, headers }, path, EXAMPLE_REQUEST_ID).body) as object
  return {
    description: `\`${code}\`: ${meaning}`,
    headers: headerDocsOf([headers]),
    content: {
      "application/json": {
        schema: { anyOf: [errorSchema("InferenceError", [code]), errorSchema("ApiError", [code])] },
        examples: {
          inference: { summary: "A path under `/v1`", value: bodyAt("/v1") },
          other: { summary: "Another path", value: bodyAt("/") }
        }
      }
    }
  }
}

const uniqueTags = (tags: ReadonlyArray<{ readonly name: string }>) =>
  tags.filter(({ name }, i) => tags.findIndex((tag) => tag.name === name) === i)

const mapValues = <A, B>(record: Readonly<Record<string, A>>, f: (value: A, name: string) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, f(value, name)]))

const without = (
  record: Readonly<Record<string, Json>>,
  names: ReadonlyArray<string>
): Readonly<Record<string, Json>> =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)))
