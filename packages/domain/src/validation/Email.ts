/**
 * Defines the stored form of an email address: trimmed, in lower case, in Unicode form NFKC. Therefore addresses with
 * the same stored form belong to one user. An address with control or format characters is refused.
 */
import * as Schema from "effect/Schema"

const OTHER = String.raw`[^\p{Cc}\p{Cf}\p{Cs}\s@"(),:;<>[\]\\]`
/** U+3002 is excluded because mail servers read it as the dot between two labels: `a@b\u3002c.com` is `a@b.c.com`. */
const LABEL = String.raw`[^\p{Cc}\p{Cf}\p{Cs}\s@"(),:;<>[\]\\.\u3002]`
const FORM = new RegExp(`^${OTHER}+@${LABEL}+(?:\\.${LABEL}+)+$`, "u")

const normalized = (text: string): string => text.normalize("NFKC")

/** Converts a text to the stored form of an email address, so that it can be compared with addresses. */
export const AddressText = Schema.transform(Schema.String, Schema.String, {
  strict: true,
  decode: normalized,
  encode: (text) => text
}).pipe(Schema.compose(Schema.Trim), Schema.compose(Schema.Lowercase))

export const Email = AddressText.pipe(
  Schema.filter(
    (s) =>
      (s.length >= 3 && s.length <= 254 && FORM.test(s) && s === normalized(s)) ||
      "an email address, like name@example.com"
  ),
  Schema.brand("Email")
)
export type Email = typeof Email.Type
