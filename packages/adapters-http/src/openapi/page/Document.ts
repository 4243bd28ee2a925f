/**
 * Declares the types of the OpenAPI document that the documentation page uses, and makes examples from the schemas of
 * the document.
 */

export interface Schema {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly format?: string
  readonly description?: string
  readonly examples?: ReadonlyArray<unknown>
  readonly const?: unknown
  readonly enum?: ReadonlyArray<unknown>
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema | ReadonlyArray<Schema>
  readonly prefixItems?: ReadonlyArray<Schema>
  readonly anyOf?: ReadonlyArray<Schema>
  readonly allOf?: ReadonlyArray<Schema>
}

export interface MediaType {
  readonly schema: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>
}

export interface Header {
  readonly $ref?: string
  readonly description?: string
}

export interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, Header>>
  readonly content?: Readonly<Record<string, MediaType>>
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly description?: string
  readonly schema: Schema
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: ReadonlyArray<string>
  readonly security: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly parameters?: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> }
  readonly responses: Readonly<Record<string, Response>>
}

export interface Document {
  readonly info: { readonly title: string; readonly description: string }
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description?: string }>
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly headers: Readonly<Record<string, Header>>
    readonly responses: Readonly<Record<string, Response>>
  }
}

export interface Route {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

/** Returns the routes of a group, in the order of the document. */
export const routesOf = ({ paths }: Document, tag: string): ReadonlyArray<Route> =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      operation.tags[0] === tag ? [{ method: method.toUpperCase(), path, operation }] : []
    )
  )

/** Returns a schema with the members of the component to which it refers. */
export const resolved = (document: Document, schema: Schema): Schema => {
  const name = schema.$ref?.split("/").at(-1)
  if (name === undefined) return schema
  const { $ref, ...beside } = schema
  return { ...resolved(document, document.components.schemas[name] ?? {}), ...beside }
}

/** Returns an example of a value: an example of the schema, or one that is made from the examples of its members. */
export const exampleOf = (document: Document, given: Schema): unknown => {
  const schema = resolved(document, given)
  if (schema.examples !== undefined) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  const first = schema.anyOf?.[0]
  if (first !== undefined) return exampleOf(document, first)
  if (schema.properties !== undefined) {
    return Object.fromEntries(
      Object.entries(schema.properties).map(([name, member]) => [name, exampleOf(document, member)])
    )
  }
  const item =
    schema.prefixItems?.[0] ?? (Array.isArray(schema.items) ? schema.items[0] : (schema.items as Schema | undefined))
  if (item !== undefined) return [exampleOf(document, item)]
  if (schema.type === "integer" || schema.type === "number") return schema.minimum ?? 0
  if (schema.type === "boolean") return true
  return schema.type === "string" ? "text" : {}
}

/** Returns the example of a body: the example of its media type, or an example of its schema. */
export const bodyExample = (document: Document, media: MediaType): unknown =>
  media.example ?? Object.values(media.examples ?? {})[0]?.value ?? exampleOf(document, media.schema)
