/**
 * Signs resellers up and logs them in (docs/reference/reseller.md#signup-and-login).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as OpenApi from "@effect/platform/OpenApi"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as LogIn from "@tollgate/application/reseller/ResellerAccess"
import * as SignUp from "@tollgate/application/reseller/ResellerAccess"
import { Login, Signup } from "@tollgate/domain/reseller/Signup"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { resellerResponse } from "../http/ApiResponse.ts"
import { clientAddressOf, TrustedProxies } from "../http/TrustedProxies.ts"
import { type MembersOf, text, unknownMembers } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { bodyErrors, documented, ResellerError } from "../openapi/ResellerDocs.ts"
import { AccountBody, exampleAccount, toAccount } from "./Account.ts"
import { jsonBody } from "./JsonBody.ts"

const credentials = { email: exampleAccount.email, password: "correct horse battery" }
const pending = { ...exampleAccount, status: "pending" as const }

const SignupBody = Schema.Struct(
  {
    email: text("The login email; it is trimmed and stored in lower case.", credentials.email),
    password: Schema.String.annotations({
      jsonSchema: {
        type: "string",
        minLength: 8,
        maxLength: 128,
        description: "The password: 8 to 128 characters.",
        examples: [credentials.password]
      }
    }),
    name: text("The display name: 1 to 200 characters.", exampleAccount.name),
    wa_number: Schema.String.annotations({
      jsonSchema: {
        type: "string",
        pattern: "^[0-9]{7,15}$",
        description: "A WhatsApp number with the country code, digits only.",
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
    password: text("The password given at signup.", credentials.password)
  } satisfies MembersOf<typeof Login>,
  unknownMembers
).annotations({ identifier: "Login", examples: [credentials] })

const SignedUp = Schema.Struct({ reseller: AccountBody }).annotations({
  identifier: "SignedUp",
  examples: [{ reseller: pending }]
})

const LoggedIn = Schema.Struct({
  token: text(
    "The token, valid for 24 hours; send it as `Authorization: Bearer <token>` on every other request.",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6IjEifQ.eyJ2ZXIiOjB9.c2lnbmF0dXJl"
  ),
  reseller: AccountBody
}).annotations({ identifier: "LoggedIn" })

const signUp = HttpApiEndpoint.post("signUp", "/api/reseller/auth/signup")
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

const logIn = HttpApiEndpoint.post("logIn", "/api/reseller/auth/login")
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

export class AuthenticationApi extends HttpApiGroup.make("resellerAuth")
  .add(signUp)
  .add(logIn)
  .addError(ResellerError)
  .annotateContext(OpenApi.annotations({ title: "Reseller: authentication" })) {}

const clientAddress = Effect.gen(function* () {
  const request = NodeHttpServerRequest.toIncomingMessage(yield* HttpServerRequest.HttpServerRequest)
  return clientAddressOf(request, yield* TrustedProxies)
})

const signedUp = resellerResponse(
  Effect.gen(function* () {
    const signup = yield* jsonBody(Signup)
    const reseller = yield* SignUp.signUp(signup, yield* clientAddress)
    const body: typeof SignedUp.Type = { reseller: toAccount(reseller) }
    return body
  }),
  201
)

const loggedIn = resellerResponse(
  Effect.gen(function* () {
    const login = yield* jsonBody(Login)
    const { token, reseller } = yield* LogIn.logIn(login, yield* clientAddress)
    const body: typeof LoggedIn.Type = { token: Redacted.value(token), reseller: toAccount(reseller) }
    return body
  })
)

export const layer = HttpApiBuilder.group(gateway.add(AuthenticationApi), "resellerAuth", (handlers) =>
  handlers.handleRaw("signUp", () => signedUp).handleRaw("logIn", () => loggedIn)
)
