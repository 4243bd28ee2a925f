/**
 * Signup and login.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as useCases from "@tollgate/application/reseller/LogIn"
import { signUp } from "@tollgate/application/reseller/SignUp"
import { Login, Signup } from "@tollgate/domain/reseller/Signup"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { clientAddressOf, TrustedProxies } from "../auth/TrustedProxies.ts"
import { resellerResponse } from "../http/ApiResponse.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { jsonBody } from "./JsonBody.ts"
import { toAccount } from "./ResellerAccount.ts"
import { type LoggedIn, ResellerAuthApi, type SignedUp } from "./ResellerAuthApi.ts"

const signedUp = resellerResponse(
  Effect.gen(function* () {
    const reseller = yield* signUp(yield* jsonBody(Signup))
    const body: typeof SignedUp.Type = { reseller: toAccount(reseller) }
    return body
  }),
  201
)

const loggedIn = resellerResponse(
  Effect.gen(function* () {
    const login = yield* jsonBody(Login)
    const request = NodeHttpServerRequest.toIncomingMessage(yield* HttpServerRequest.HttpServerRequest)
    const address = clientAddressOf(request, yield* TrustedProxies)
    const { token, reseller } = yield* useCases.logIn(login, address)
    const body: typeof LoggedIn.Type = { token: Redacted.value(token), reseller: toAccount(reseller) }
    return body
  })
)

export const layer = HttpApiBuilder.group(gateway.add(ResellerAuthApi), "resellerAuth", (handlers) =>
  handlers.handleRaw("signUp", () => signedUp).handleRaw("logIn", () => loggedIn)
)
