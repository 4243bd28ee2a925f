/**
 * Makes a small example of a JSON schema, for simulated responses that should match a schema. An object contains only
 * the members that its schema requires. Keywords that this file does not read, such as `pattern`, are ignored, so the
 * value can violate them.
 */
import { asArray, asCount, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"

const MAX_DEPTH = 32
const MAX_VALUES = 1_000

export const exampleOf = (schema: unknown): unknown =>
  fit(schema, { root: asObject(schema) ?? {}, valuesLeft: MAX_VALUES }, 0)

/**
 * The root schema, in which references are resolved, and the number of values that can still be made. The number is
 * limited because a schema can be recursive.
 */
interface ExampleContext {
  readonly root: JsonObject
  valuesLeft: number
}

const fit = (schema: unknown, context: ExampleContext, depth: number): unknown => {
  const rules = asObject(schema)
  context.valuesLeft -= 1
  if (rules === undefined || depth > MAX_DEPTH || context.valuesLeft < 0) return null
  if ("const" in rules) return rules.const
  if (asArray(rules.enum).length > 0) return asArray(rules.enum)[0]
  if (typeof rules.$ref === "string") return fit(resolve(rules.$ref, context.root), context, depth + 1)
  const [branch] = [...asArray(rules.anyOf), ...asArray(rules.oneOf)]
  if (branch !== undefined) return fit(branch, context, depth + 1)
  if (asArray(rules.allOf).length > 0) {
    const parts = asArray(rules.allOf).map((part) => fit(part, context, depth + 1))
    return parts.every((part) => asObject(part) !== undefined) ? Object.assign({}, ...parts) : parts[0]
  }
  switch (typeOf(rules)) {
    case "object":
      return objectOf(rules, context, depth)
    case "array":
      return Array.from({ length: Math.max(0, Math.min(asCount(rules.minItems) ?? 1, context.valuesLeft)) }, () =>
        fit(rules.items, context, depth + 1)
      )
    case "string":
      return textOf(rules)
    case "integer":
    case "number":
      return numberOf(rules)
    case "boolean":
      return true
    default:
      return null
  }
}

const typeOf = (rules: JsonObject): string => {
  const named = asText(rules.type) || asText(asArray(rules.type).find((type) => type !== "null"))
  return named || (rules.properties !== undefined ? "object" : rules.items !== undefined ? "array" : "")
}

const objectOf = (rules: JsonObject, context: ExampleContext, depth: number): JsonObject => {
  const properties = asObject(rules.properties) ?? {}
  const names = asArray(rules.required).filter((name) => typeof name === "string")
  return Object.fromEntries(
    names.map((name) => [name, fit(properties[name] ?? { type: "string" }, context, depth + 1)])
  )
}

const textOf = (rules: JsonObject): string => {
  const text = TEXT_BY_FORMAT[asText(rules.format)] ?? "simulated"
  return text
    .padEnd(Math.min(asCount(rules.minLength) ?? 0, 1_000), ".")
    .slice(0, asCount(rules.maxLength) ?? undefined)
}

const TEXT_BY_FORMAT: Readonly<Record<string, string>> = {
  "date-time": "2026-01-01T00:00:00Z",
  date: "2026-01-01",
  time: "00:00:00Z",
  email: "simulated@example.com",
  uri: "https://example.com/simulated",
  uuid: "00000000-0000-4000-8000-000000000000"
}

const numberOf = (rules: JsonObject): number => {
  const least = typeof rules.minimum === "number" ? rules.minimum : undefined
  const above = typeof rules.exclusiveMinimum === "number" ? rules.exclusiveMinimum + 1 : undefined
  const most = typeof rules.maximum === "number" ? rules.maximum : undefined
  return least ?? above ?? Math.min(1, most ?? 1)
}

/** Resolves a reference such as `#/$defs/Name`. */
const resolve = (ref: string, root: JsonObject): unknown =>
  ref
    .replace(/^#\/?/, "")
    .split("/")
    .filter((step) => step !== "")
    .reduce<unknown>((at, step) => asObject(at)?.[step.replaceAll("~1", "/").replaceAll("~0", "~")], root)
