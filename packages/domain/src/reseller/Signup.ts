/**
 * Defines the request bodies of signup, login and a change of the password (docs/reference/reseller.md#res-2,
 * docs/reference/reseller.md#b9).
 */
import * as Schema from "effect/Schema"
import { Email } from "../validation/Email.ts"
import { charactersWithin, Name } from "../validation/Text.ts"

/** Another reseller already has this email. */
export class EmailExists extends Schema.TaggedError<EmailExists>()("EmailExists", {}) {}

/**
 * A password in Unicode form NFC. Different keyboards send different code points for the same letters; NFC unifies
 * them.
 */
const PasswordText = Schema.transform(Schema.String, Schema.String, {
  strict: true,
  decode: (text) => text.normalize("NFC"),
  encode: (text) => text
})

/** A new password: 8 to 128 characters. */
export const NewPassword = Schema.Redacted(
  PasswordText.pipe(
    Schema.filter(charactersWithin(8, 128), {
      jsonSchema: { minLength: 8, maxLength: 128 }
    })
  )
)

/**
 * The password of a login attempt. The rules for new passwords do not apply: a text that violates them is refused like
 * any other wrong password.
 */
export const ClaimedPassword = Schema.Redacted(PasswordText)

/** A WhatsApp number: digits only, with the country code first. No country code begins with 0. */
export const WaNumber = Schema.String.pipe(
  Schema.pattern(/^[1-9][0-9]{6,14}$/, { message: () => "7 to 15 digits that begin with the country code" })
)

export const Signup = Schema.Struct({
  email: Email,
  password: NewPassword,
  name: Name,
  waNumber: Schema.propertySignature(WaNumber).pipe(Schema.fromKey("wa_number"))
})
export type Signup = typeof Signup.Type

/** The body of a login. The email can be any text. A text that is not an email address matches no reseller. */
export const Login = Schema.Struct({ email: Schema.String, password: ClaimedPassword })
export type Login = typeof Login.Type

/** The body of a change of the password. */
export const PasswordChange = Schema.Struct({
  currentPassword: Schema.propertySignature(ClaimedPassword).pipe(Schema.fromKey("current_password")),
  newPassword: Schema.propertySignature(NewPassword).pipe(Schema.fromKey("new_password"))
})
export type PasswordChange = typeof PasswordChange.Type
