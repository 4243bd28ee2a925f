/**
 * The OpenAPI document of the server, and validators of its schemas. Each schema is compiled at most once per worker.
 */
import * as OpenApi from "@effect/platform/OpenApi"
import { GatewayApi } from "@tollgate/adapters-http/server/GatewayApi"
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"

export interface MediaType {
  readonly schema: object
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
  /** The schema of the JSON in the `data` of each event of an event stream. */
  readonly "x-event-schema"?: object
}

export interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, Header | Reference>>
  readonly content?: Readonly<Record<string, MediaType>>
}

export interface Header {
  readonly required?: boolean
  readonly schema: object
}

export interface Reference {
  readonly $ref: string
}

export interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly tags: ReadonlyArray<string>
  readonly security: ReadonlyArray<object>
  readonly parameters?: ReadonlyArray<{
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly schema: object
  }>
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> }
  readonly responses: Readonly<Record<string, Response>>
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>
    readonly headers: Readonly<Record<string, Header>>
    readonly responses: Readonly<Record<string, Response>>
  }
  readonly "x-common-responses": Readonly<Record<string, Reference>>
}

export const document = OpenApi.fromApi(GatewayApi) as unknown as Document

/** Members of the document that are not keywords of JSON Schema. */
const MEMBERS = ["openapi", "info", "servers", "security", "tags", "paths", "components", "x-common-responses"]

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false, coerceTypes: false })
addFormats.default(ajv)
for (const member of MEMBERS) ajv.addKeyword(member)
ajv.addSchema(document, "document")

const compiled = new WeakMap<object, ValidateFunction>()
/** The validators by the text of their schema. Most operations contain a copy of the same schemas. */
const compiledTexts = new Map<string, ValidateFunction>()
const coercing = new Ajv2020({ strict: true, allowUnionTypes: true, coerceTypes: true })

const validatorOf = (schema: object): ValidateFunction => {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  const text = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/')
  const made = compiledTexts.get(text) ?? ajv.compile(JSON.parse(text) as object)
  compiledTexts.set(text, made)
  compiled.set(schema, made)
  return made
}

/** Returns the differences of `value` from the schema, or undefined if the value is valid. */
export const deviationOf = (schema: object, value: unknown): string | undefined => {
  const validate = validatorOf(schema)
  return validate(value) ? undefined : ajv.errorsText(validate.errors, { dataVar: "body" })
}

/** Returns whether the text of a header matches the schema of the header, which can be a number. */
export const isHeaderValue = (schema: object, text: string): boolean => {
  const known = compiled.get(schema)
  const validate = known ?? coercing.compile({ type: "object", properties: { text: schema } })
  if (known === undefined) compiled.set(schema, validate)
  return validate({ text })
}

/** Returns the part of the document to which a local reference points. */
export const resolved = <A extends object>(part: A | Reference): A =>
  "$ref" in part
    ? (part.$ref
        .slice(2)
        .split("/")
        .reduce<unknown>((at, name) => (at as Record<string, unknown>)[unescaped(name)], document) as A)
    : part

const unescaped = (name: string): string => name.replaceAll("~1", "/").replaceAll("~0", "~")
