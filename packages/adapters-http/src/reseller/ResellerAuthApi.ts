/**
 * How somebody becomes a reseller, and gets a token (spec: Reseller: authentication).
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import type { Login, Signup } from "@tollgate/domain/reseller/Signup"
import * as Schema from "effect/Schema"
import { type MembersOf, text, unknownMembers } from "../openapi/Fields.ts"
import { documented, ofBodies, ResellerError } from "../openapi/ResellerDocs.ts"
import { exampleAccount, ResellerAccount } from "./ResellerAccount.ts"

const credentials = { email: exampleAccount.email, password: "correct horse battery" }
const pending = { ...exampleAccount, status: "pending" as const }

const SignupBody = Schema.Struct(
  {
    email: text("Trimmed and kept in lower case.", credentials.email),
    password: Schema.String.annotations({
      jsonSchema: {
        type: "string",
        minLength: 8,
        maxLength: 128,
        description: "8 to 128 characters.",
        examples: [credentials.password]
      }
    }),
    name: text("The name to show; 1 to 200 characters.", exampleAccount.name),
    wa_number: Schema.String.annotations({
      jsonSchema: {
        type: "string",
        pattern: "^[0-9]{7,15}$",
        description: "A WhatsApp number: digits only, country code included.",
        examples: ["628123456789"]
      }
    })
  } satisfies MembersOf<typeof Signup>,
  unknownMembers
).annotations({
  identifier: "Signup",
  examples: [{ ...credentials, name: exampleAccount.name, wa_number: "628123456789" }]
})

const LoginBody = Schema.Struct(
  {
    email: text("As at signup; upper and lower case are the same.", credentials.email),
    password: text("The password of the signup.", credentials.password)
  } satisfies MembersOf<typeof Login>,
  unknownMembers
).annotations({ identifier: "Login", examples: [credentials] })

export const SignedUp = Schema.Struct({ reseller: ResellerAccount }).annotations({
  identifier: "SignedUp",
  examples: [{ reseller: pending }]
})

export const LoggedIn = Schema.Struct({
  token: text(
    "Goes into `Authorization: Bearer <token>` of every other request; valid for 24 hours.",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6IjEifQ.eyJ2ZXIiOjB9.c2lnbmF0dXJl"
  ),
  reseller: ResellerAccount
}).annotations({ identifier: "LoggedIn" })

const signUp = HttpApiEndpoint.post("signUp", "/api/reseller/auth/signup")
  .setPayload(SignupBody)
  .addSuccess(SignedUp, { status: 201 })
  .annotateContext(
    documented({
      summary: "Become a reseller",
      description: "The reseller is `pending` until somebody has reviewed it, and can log in once it is `active`.",
      open: true,
      errors: [...ofBodies, "EmailBlacklisted", "EmailExists", "RateLimited"]
    })
  )

const logIn = HttpApiEndpoint.post("logIn", "/api/reseller/auth/login")
  .setPayload(LoginBody)
  .addSuccess(LoggedIn)
  .annotateContext(
    documented({
      summary: "Get a token for a password",
      description: "At most 5 attempts a minute for an email from one address; also limited for each of the two alone.",
      open: true,
      errors: [...ofBodies, "InvalidCredentials", "ResellerNotActive", "RateLimited"]
    })
  )

export class ResellerAuthApi extends HttpApiGroup.make("resellerAuth")
  .add(signUp)
  .add(logIn)
  .addError(ResellerError)
  .annotateContext(OpenApi.annotations({ title: "Reseller: authentication" })) {}
