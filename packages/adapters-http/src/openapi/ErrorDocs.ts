/**
 * The errors that are documented are those that are told. The library adds one of its own to every operation, which
 * is never sent: what cannot be read is refused in the bodies of the surfaces.
 */
const LIBRARY_ERROR = "HttpApiDecodeError"
/** What it is made of. */
const ITS_PARTS = ["Issue", "PropertyKey"]

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

export const withOwnErrorsOnly = (specification: Record<string, unknown>): Record<string, unknown> => {
  const components = specification.components as { readonly schemas: Record<string, unknown> }
  return {
    ...specification,
    paths: mapValues(specification.paths as Paths, (methods) =>
      mapValues(methods, (operation) => ({ ...operation, responses: ownOf(operation.responses) }))
    ),
    components: { ...components, schemas: without(components.schemas, [LIBRARY_ERROR, ...ITS_PARTS]) }
  }
}

const ownOf = ({ "400": malformed, ...others }: Responses): Responses => {
  const schema = malformed?.content?.["application/json"]?.schema
  if (malformed === undefined || schema === undefined || isLibrarys(schema)) return others
  const own = schema.anyOf?.filter((one) => !isLibrarys(one))
  const [only] = own ?? [schema]
  if (only === undefined || own?.length !== 1) return { ...others, "400": malformed }
  const description = only.description ?? malformed.description
  return { ...others, "400": { description, content: { "application/json": { schema: only } } } }
}

const isLibrarys = ({ $ref }: ErrorSchema): boolean => $ref?.endsWith(`/${LIBRARY_ERROR}`) === true

const mapValues = <A, B>(record: Readonly<Record<string, A>>, f: (value: A) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, f(value)]))

const without = (record: Record<string, unknown>, names: ReadonlyArray<string>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)))
