/**
 * An email address as we keep it: trimmed and in lower case, so that one person is one user.
 */
import * as Schema from "effect/Schema"

const FORM =
  /^[^\p{Cc}\p{Cs}\s@"(),:;<>[\]\\]+@[^\p{Cc}\p{Cs}\s@"(),:;<>[\]\\.]+(?:\.[^\p{Cc}\p{Cs}\s@"(),:;<>[\]\\.]+)+$/u

export const Email = Schema.Trim.pipe(
  Schema.compose(Schema.Lowercase),
  Schema.filter((s) => (s.length >= 3 && s.length <= 254 && FORM.test(s)) || "an email address, like name@example.com"),
  Schema.brand("Email")
)
export type Email = typeof Email.Type
