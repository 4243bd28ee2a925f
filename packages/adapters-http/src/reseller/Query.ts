/**
 * Query parameters that are read by the domain, after the token: declared here for the documentation only, so that
 * nothing a caller sends is refused before it is known who the caller is.
 */
import { ValidationFailed } from "@tollgate/domain/validation/Validation"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

/** As often as it was given, which should be once. */
export const parameter = (jsonSchema: object) =>
  Schema.optional(Schema.Array(Schema.String).annotations({ jsonSchema }))

/** Each parameter's text; one that was given twice is none. */
export const onlyOnce = <Name extends string>(
  given: Readonly<Partial<Record<Name, ReadonlyArray<string> | undefined>>>
): Either.Either<Partial<Record<Name, string>>, ValidationFailed> => {
  const found: Partial<Record<Name, string>> = {}
  const details: Array<{ readonly path: string; readonly message: string }> = []
  for (const name of Object.keys(given) as Array<Name>) {
    const [text, ...more] = given[name] ?? []
    if (more.length > 0) details.push({ path: name, message: "given once" })
    else if (text !== undefined) found[name] = text
  }
  return details.length > 0 ? Either.left(new ValidationFailed({ details })) : Either.right(found)
}
