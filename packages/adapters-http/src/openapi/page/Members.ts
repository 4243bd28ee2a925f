/**
 * Renders tables of the members of a JSON body, of parameters and of headers.
 */
import { type Document, type Parameter, resolved, type Schema } from "./Document.ts"
import { html, inline, type Markup } from "./Markup.ts"

/** The depth to which nested members are listed. */
const MAX_DEPTH = 4

interface Member {
  readonly name: string
  readonly schema: Schema
  readonly required: boolean
}

/** Lists the members of a schema. The name of a nested member contains the names of the members around it. */
const membersOf = (document: Document, given: Schema, prefix = "", depth = 0): ReadonlyArray<Member> => {
  const schema = resolved(document, given)
  const parts = [...(schema.allOf ?? []), ...(schema.anyOf ?? [])]
  if (parts.length > 0 && schema.properties === undefined) {
    const all = parts.flatMap((part) => membersOf(document, part, prefix, depth))
    return all.filter(({ name }, i) => all.findIndex((member) => member.name === name) === i)
  }
  const item = itemOf(schema)
  if (item !== undefined) return membersOf(document, item, `${prefix}[]`, depth)
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const member = { name: prefix === "" ? name : `${prefix}.${name}`, schema: resolved(document, property) }
    const required = schema.required?.includes(name) ?? false
    const nested = depth + 1 < MAX_DEPTH ? membersOf(document, property, member.name, depth + 1) : []
    return [{ ...member, required }, ...nested]
  })
}

const itemOf = ({ items, prefixItems }: Schema): Schema | undefined =>
  prefixItems?.[0] ?? (Array.isArray(items) ? (items[0] as Schema | undefined) : (items as Schema | undefined))

const typeOf = (document: Document, given: Schema): string => {
  const schema = resolved(document, given)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ")
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map((part) => typeOf(document, part)))].join(" | ")
  const item = itemOf(schema)
  if (item !== undefined) return `array of ${typeOf(document, item)}`
  const type = Array.isArray(schema.type) ? schema.type.join(" | ") : ((schema.type as string | undefined) ?? "any")
  return schema.format === undefined ? type : `${type} (${schema.format})`
}

const limitsOf = ({ minimum, maximum, minLength, maxLength, default: initial }: Schema): string =>
  [
    minimum !== undefined && maximum !== undefined ? `${minimum} to ${maximum}` : undefined,
    minLength !== undefined && maxLength !== undefined ? `${minLength} to ${maxLength} characters` : undefined,
    initial === undefined ? undefined : `default \`${String(initial)}\``
  ]
    .filter((limit) => limit !== undefined)
    .join("; ")

const row = (document: Document, { name, schema, required }: Member): Markup => {
  const limits = limitsOf(schema)
  const described = [schema.description, limits === "" ? undefined : `${limits}.`].filter((text) => text !== undefined)
  return html`<tr><th scope="row"><code>${name}</code>${required ? html` <span class="required">required</span>` : undefined}</th><td><span class="type">${typeOf(document, schema)}</span>${
    described.length === 0 ? undefined : html`<br>${inline(described.join(" "))}`
  }</td></tr>`
}

const table = (label: string, rows: ReadonlyArray<Markup>): Markup | undefined =>
  rows.length === 0
    ? undefined
    : html`<table><caption>${label}</caption><thead class="unseen"><tr><th scope="col">Name</th><th scope="col">Description</th></tr></thead><tbody>${rows}</tbody></table>`

export const memberTable = (document: Document, label: string, schema: Schema): Markup | undefined =>
  table(
    label,
    membersOf(document, schema).map((member) => row(document, member))
  )

export const parameterTable = (
  document: Document,
  label: string,
  parameters: ReadonlyArray<Parameter>
): Markup | undefined =>
  table(
    label,
    parameters.map(({ name, required, description, schema }) =>
      row(document, {
        name,
        required,
        schema: { ...resolved(document, schema), ...(description === undefined ? {} : { description }) }
      })
    )
  )
