/**
 * Signs resellers up, logs them in and out, and changes their passwords (docs/reference/reseller.md#signup-and-login).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Blacklist } from "@tollgate/application/reseller/Blacklist"
import { PasswordHasher } from "@tollgate/application/reseller/PasswordHasher"
import * as Access from "@tollgate/application/reseller/ResellerAccess"
import { Attempts } from "@tollgate/application/reseller/ResellerAccess"
import { Login, PasswordChange, Signup } from "@tollgate/domain/reseller/Signup"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { forReseller, resellerServices } from "../auth/ResellerCaller.ts"
import { resellerResponse } from "../http/ApiResponse.ts"
import { withOnly } from "../http/RouteServices.ts"
import { SmallBodies } from "../http/SmallBodies.ts"
import { clientAddress, TrustedProxies } from "../http/TrustedProxies.ts"
import { type MembersOf, text, unknownMembers } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { bodyErrors, documented, ResellerError } from "../openapi/ResellerDocs.ts"
import { AccountBody, exampleAccount, toAccount } from "./Account.ts"
import { jsonBody } from "./JsonBody.ts"

const credentials = { email: exampleAccount.email, password: "correct horse battery" }
const pending = { ...exampleAccount, status: "pending" as const }

const password = Schema.String.annotations({
  jsonSchema: {
    type: "string",
    minLength: 8,
    maxLength: 128,
    description: "The password: 8 to 128 characters.",
    examples: [credentials.password]
  }
})

const SignupBody = Schema.Struct(
  {
    email: text("The login email; it is trimmed and stored in lower case.", credentials.email),
    password,
    name: text("The display name: 1 to 200 characters.", exampleAccount.name),
    wa_number: Schema.String.annotations({
      jsonSchema: {
        type: "string",
        pattern: "^[1-9][0-9]{6,14}$",
        description: "A WhatsApp number: 7 to 15 digits that begin with the country code, so not with 0.",
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
    email: text("The email given at signup, in upper or lower case.", credentials.email),
    password: text("The current password.", credentials.password)
  } satisfies MembersOf<typeof Login>,
  unknownMembers
).annotations({ identifier: "Login", examples: [credentials] })

const SignedUp = Schema.Struct({ reseller: AccountBody }).annotations({
  identifier: "SignedUp",
  examples: [{ reseller: pending }]
})

const LoggedIn = Schema.Struct({
  token: text(
    "The token, valid for 24 hours. Send it as `Authorization: Bearer <token>` with requests to the other reseller routes.",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6IjEifQ.eyJ2ZXIiOjB9.c2lnbmF0dXJl"
  ),
  reseller: AccountBody
}).annotations({ identifier: "LoggedIn" })

const PasswordChangeBody = Schema.Struct(
  {
    current_password: text("The current password.", credentials.password),
    new_password: password
  } satisfies MembersOf<typeof PasswordChange>,
  unknownMembers
).annotations({
  identifier: "PasswordChange",
  examples: [{ current_password: credentials.password, new_password: "another horse battery" }]
})

const LoggedOut = Schema.Struct({
  logged_out: Schema.Literal(true).annotations({ description: "Always true: every token of the reseller has ended." })
}).annotations({ identifier: "LoggedOut", examples: [{ logged_out: true }] })

export const signUp = HttpApiEndpoint.post("signUp", "/api/reseller/auth/signup")
  .setPayload(SignupBody)
  .addSuccess(SignedUp, { status: 201 })
  .annotateContext(
    documented({
      summary: "Sign up as a reseller",
      description:
        "The account is `pending` until an operator has reviewed it. An `active` account can log in. At most 10 signups " +
        "per hour are accepted from one IP address.",
      public: true,
      errors: [...bodyErrors, "EmailBlacklisted", "EmailExists", "RateLimited"]
    })
  )

export const logIn = HttpApiEndpoint.post("logIn", "/api/reseller/auth/login")
  .setPayload(LoginBody)
  .addSuccess(LoggedIn)
  .annotateContext(
    documented({
      summary: "Log in and get a token",
      description:
        "At most 5 attempts per minute are accepted for one email from one IP address. Separate limits apply to each " +
        "email and to each IP address.",
      public: true,
      errors: [...bodyErrors, "InvalidCredentials", "ResellerNotActive", "RateLimited"]
    })
  )

const changePassword = HttpApiEndpoint.post("changePassword", "/api/reseller/auth/password")
  .setPayload(PasswordChangeBody)
  .addSuccess(LoggedIn)
  .annotateContext(
    documented({
      summary: "Change the password and get a new token",
      description:
        "Ends all tokens of the reseller. Only the token in the response is valid. An attempt counts as a login attempt.",
      errors: [...bodyErrors, "RateLimited"]
    })
  )

const logOut = HttpApiEndpoint.post("logOut", "/api/reseller/auth/logout")
  .addSuccess(LoggedOut)
  .annotateContext(
    documented({
      summary: "Log out",
      description: "Ends all tokens of the reseller, on all devices. The request has no body.",
      errors: []
    })
  )

export class AuthenticationApi extends HttpApiGroup.make("resellerAuth")
  .add(signUp)
  .add(logIn)
  .add(changePassword)
  .add(logOut)
  .addError(ResellerError)
  .annotateContext(
    OpenApi.annotations({
      title: "Reseller: sign-up and login",
      description:
        "Sign up as a reseller. After an operator has approved the account, log in to get the token that the other reseller routes need."
    })
  ) {}

const signedUp = resellerResponse(
  Effect.gen(function* () {
    const signup = yield* jsonBody(Signup)
    const reseller = yield* Access.signUp(signup, yield* clientAddress)
    const body: typeof SignedUp.Type = { reseller: toAccount(reseller) }
    return body
  }),
  201
)

const toLoggedIn = ({ token, reseller }: Access.LoggedIn): typeof LoggedIn.Type => ({
  token: Redacted.value(token),
  reseller: toAccount(reseller)
})

const loggedIn = resellerResponse(
  Effect.gen(function* () {
    const login = yield* jsonBody(Login)
    return toLoggedIn(yield* Access.logIn(login, yield* clientAddress))
  })
)

const passwordChanged = forReseller((reseller) =>
  Effect.gen(function* () {
    const change = yield* jsonBody(PasswordChange)
    return toLoggedIn(yield* Access.changePassword(reseller, change, yield* clientAddress))
  })
)

const loggedOut = forReseller((reseller) =>
  Effect.map(Access.logOut(reseller), (): typeof LoggedOut.Type => ({ logged_out: true }))
)

export const layer = HttpApiBuilder.group(gateway.add(AuthenticationApi), "resellerAuth", (handlers) =>
  handlers
    .handleRaw("signUp", () => signedUp)
    .handleRaw("logIn", () => loggedIn)
    .handleRaw("changePassword", () => passwordChanged)
    .handleRaw("logOut", () => loggedOut)
).pipe(withOnly(...resellerServices, Attempts, Blacklist, PasswordHasher, SmallBodies, TrustedProxies))
