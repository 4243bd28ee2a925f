/**
 * Reads the OpenAPI document for tests.
 */
import { OpenApi } from "@effect/platform"
import { GatewayApi } from "@tollgate/adapters-http/server/GatewayApi"

export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly examples?: ReadonlyArray<unknown>
  readonly enum?: ReadonlyArray<unknown>
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly allOf?: ReadonlyArray<JsonSchema>
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly additionalProperties?: unknown
}
interface Response {
  readonly description: string
  readonly content: Readonly<
    Record<string, { readonly schema: JsonSchema; readonly examples?: Record<string, { value: unknown }> }>
  >
}
interface Operation {
  readonly summary: string
  readonly security: ReadonlyArray<object>
  readonly parameters: ReadonlyArray<{
    readonly name: string
    readonly description?: string
    readonly schema: JsonSchema
  }>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> }
  readonly responses: Readonly<Record<string, Response>>
}

// The document is encoded and parsed as JSON, so that the tests see it as clients do.
const specification = JSON.parse(JSON.stringify(OpenApi.fromApi(GatewayApi))) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>>; readonly securitySchemes: object }
}
export const { schemas, securitySchemes } = specification.components

export const resolved = (schema: JsonSchema): JsonSchema => {
  const name = schema.$ref?.split("/").at(-1)
  return name === undefined ? schema : (schemas[name] ?? {})
}

export const operation = (route: string): Operation => {
  const [method = "", path = ""] = route.split(" ")
  const found = specification.paths[path]?.[method.toLowerCase()]
  if (found === undefined) throw new Error(`${route} is not documented`)
  return found
}

/** Returns every documented route, such as `GET /healthz`, whose path matches. */
export const routesOf = (paths: RegExp): ReadonlyArray<string> =>
  Object.entries(specification.paths)
    .filter(([path]) => paths.test(path))
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))

/**
 * Returns the members and parameters that have no description. Objects, lists and members with one possible value need
 * none.
 */
export const undescribedMembers = (routes: ReadonlyArray<string>): ReadonlyArray<string> => {
  const undescribed: Array<string> = []
  const visit = (where: string, schema: JsonSchema, seen: ReadonlyArray<string> = []) => {
    if (schema.$ref !== undefined && seen.includes(schema.$ref)) return
    const path = schema.$ref === undefined ? seen : [...seen, schema.$ref]
    const { properties = {}, items, allOf = [], anyOf = [] } = resolved(schema)
    for (const each of [...allOf, ...anyOf]) visit(where, each, path)
    if (items !== undefined) visit(`${where}[]`, items, path)
    for (const [name, member] of Object.entries(properties)) {
      const { description, enum: values } = { ...resolved(member), ...member }
      const one = values?.length === 1
      const object = resolved(member).properties !== undefined || member.items !== undefined
      if (description === undefined && !one && !object) undescribed.push(`${where}.${name}`)
      visit(`${where}.${name}`, member, path)
    }
  }
  for (const route of routes) {
    const { requestBody, responses, parameters } = operation(route)
    for (const [type, { schema }] of Object.entries(requestBody?.content ?? {})) visit(`${route} ${type}`, schema)
    for (const [status, { content }] of Object.entries(responses)) {
      for (const { schema } of Object.values(content)) visit(`${route} ${status}`, schema)
    }
    for (const { name, description, schema } of parameters) {
      if (description === undefined && schema.description === undefined) undescribed.push(`${route} ?${name}`)
    }
  }
  return undescribed
}
