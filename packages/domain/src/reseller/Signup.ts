/**
 * What somebody says of themselves to become a reseller (spec: signup; gap B9).
 */
import * as Schema from "effect/Schema"
import { Email } from "../validation/Email.ts"

const characters = (text: string): number => [...text].length

/** The same password typed on another keyboard is the same password. */
const PasswordText = Schema.transform(Schema.String, Schema.String, {
  strict: true,
  decode: (text) => text.normalize("NFC"),
  encode: (text) => text
})

/** A password to be: 8 to 128 characters. */
export const NewPassword = Schema.Redacted(
  PasswordText.pipe(
    Schema.filter((s) => (characters(s) >= 8 && characters(s) <= 128) || "8 to 128 characters", {
      jsonSchema: { minLength: 8, maxLength: 128 }
    })
  )
)

/** A password as somebody claims it; the rules of new ones are not told here. */
export const ClaimedPassword = Schema.Redacted(PasswordText)

/** 1 to 200 characters on one line. */
export const ResellerName = Schema.Trim.pipe(
  Schema.filter((s) => (characters(s) >= 1 && characters(s) <= 200) || "1 to 200 characters"),
  Schema.filter((s) => !/\p{Cc}/u.test(s) || "one line, no control characters"),
  // It cannot be stored as it is.
  Schema.filter((s) => !/\p{Surrogate}/u.test(s) || "no half surrogate pair")
)

/** A WhatsApp number with its country code. */
export const WaNumber = Schema.String.pipe(
  Schema.pattern(/^[0-9]{7,15}$/, { message: () => "7 to 15 digits, country code included" })
)

export const Signup = Schema.Struct({
  email: Email,
  password: NewPassword,
  name: ResellerName,
  waNumber: Schema.propertySignature(WaNumber).pipe(Schema.fromKey("wa_number"))
})
export type Signup = typeof Signup.Type

/** Any text may be tried as an email: what is none belongs to nobody. */
export const Login = Schema.Struct({ email: Schema.String, password: ClaimedPassword })
export type Login = typeof Login.Type
