/**
 * An email address as we keep it, so that one person is one user: trimmed, in lower case, and in the one form that Unicode
 * has for characters that look alike (NFKC), without characters that do not show.
 */
import * as Schema from "effect/Schema"

const OTHER = String.raw`[^\p{Cc}\p{Cf}\p{Cs}\s@"(),:;<>[\]\\]`
const LABEL = String.raw`[^\p{Cc}\p{Cf}\p{Cs}\s@"(),:;<>[\]\\.]`
const FORM = new RegExp(`^${OTHER}+@${LABEL}+(?:\\.${LABEL}+)+$`, "u")

const oneForm = (text: string): string => text.normalize("NFKC")

/** Text that is to be compared with addresses, in the form in which they are kept. */
export const AddressText = Schema.transform(Schema.String, Schema.String, {
  strict: true,
  decode: oneForm,
  encode: (text) => text
}).pipe(Schema.compose(Schema.Trim), Schema.compose(Schema.Lowercase))

export const Email = AddressText.pipe(
  Schema.filter(
    (s) =>
      (s.length >= 3 && s.length <= 254 && FORM.test(s) && s === oneForm(s)) ||
      "an email address, like name@example.com"
  ),
  Schema.brand("Email")
)
export type Email = typeof Email.Type
