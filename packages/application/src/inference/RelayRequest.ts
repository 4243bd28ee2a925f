/**
 * One inference request from its key to its settlement.
 *
 *     authenticate ─▶ read ─▶ find the model ─▶ hold ─▶ try routes ─▶ settle
 *
 * The order is the order of checks the gap list promises (A11). What comes before the hold is here, the rest is
 * {@link HeldRequest}'s.
 *
 * Each step calls the next (ADR 0007). This is the hot path, where a fiber that waits three times costs more than all
 * the steps together.
 */

import { callable } from "@tollgate/domain/catalog/Catalog"
import { estimate } from "@tollgate/domain/inference/Estimate"
import type {
  InvalidApiKey,
  InvalidRequest,
  ModelNotFound,
  Overloaded,
  RequestTooLarge
} from "@tollgate/domain/inference/InferenceErrors"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import type * as Redacted from "effect/Redacted"
import { CurrentCatalog } from "../catalog/Catalogs.ts"
import { type Admission, type Callback, InferenceLedger } from "../ledger/InferenceLedger.ts"
import { AdmittedRequest, type AdmittedRequestPorts, type Run } from "./AdmittedRequest.ts"
import { ApiKeyAuthenticator, type Principal } from "./ApiKeyAuthenticator.ts"
import { OpenRequests } from "./OpenRequests.ts"
import type { AttemptError, InferenceRequest, RelayConnection } from "./RelayConnection.ts"
import { TokenCounter } from "./TokenCounter.ts"

export type RelayRequestError =
  | InvalidApiKey
  | InvalidRequest
  | RequestTooLarge
  | ModelNotFound
  | InsufficientBalance
  | Overloaded
  | AttemptError

/** Answers once, when the request is over: settled, or with nothing left to settle but in the background. */
export type RelayRequest = <Request extends InferenceRequest>(
  client: RelayConnection<Request>,
  answer: Callback<void, RelayRequestError>
) => void

interface Ports extends AdmittedRequestPorts {
  readonly authenticator: ApiKeyAuthenticator["Type"]
  readonly catalog: CurrentCatalog["Type"]
}

/** The ports are looked up once, not for every request. `run` carries out what hardly any request needs. */
export const makeRelayRequest = (
  run: Run
): Effect.Effect<
  RelayRequest,
  never,
  ApiKeyAuthenticator | CurrentCatalog | InferenceLedger | OpenRequests | TokenCounter
> =>
  Effect.gen(function* () {
    const ports: Ports = {
      authenticator: yield* ApiKeyAuthenticator,
      catalog: yield* CurrentCatalog,
      ledger: yield* InferenceLedger,
      open: yield* OpenRequests,
      counter: yield* TokenCounter,
      run
    }
    return (client, answer) => new UnadmittedRequest(client, ports, answer).start()
  })

const LEFT: Exit.Exit<never> = Exit.interrupt(FiberId.none)

/** A request that holds nothing yet: it may be refused, or its client may leave, and there is nothing to settle. */
class UnadmittedRequest<Request extends InferenceRequest> {
  readonly #client: RelayConnection<Request>
  readonly #ports: Ports
  readonly #answer: Callback<void, RelayRequestError>
  #over = false

  constructor(client: RelayConnection<Request>, ports: Ports, answer: Callback<void, RelayRequestError>) {
    this.#client = client
    this.#ports = ports
    this.#answer = answer
  }

  start(): void {
    const { presentedKey } = this.#client
    this.#client.onLeft = () => this.#end(LEFT)
    if (this.#client.gone()) this.#end(LEFT)
    else if (presentedKey._tag === "Left") this.#end(Exit.fail(presentedKey.left))
    else this.#step(() => this.#identify(presentedKey.right))
  }

  #identify(presented: Redacted.Redacted<string>): void {
    const { authenticator, run } = this.#ports
    const recalled = authenticator.recall(presented)
    if (recalled?._tag === "Right") this.#takeBody(recalled.right)
    else if (recalled?._tag === "Left") this.#end(Exit.fail(recalled.left))
    else {
      run(authenticator.authenticate(presented), (exit) => {
        if (Exit.isFailure(exit)) this.#end(Exit.failCause(exit.cause))
        else this.#step(() => this.#takeBody(exit.value))
      })
    }
  }

  #takeBody(principal: Principal): void {
    if (this.#over) return
    this.#client.takeBody((exit) => {
      if (Exit.isFailure(exit)) this.#end(Exit.failCause(exit.cause))
      else this.#step(() => this.#admit(principal, exit.value))
    })
  }

  #admit(principal: Principal, body: Buffer): void {
    const client = this.#client
    const read = Either.flatMap(client.read(body), (request) =>
      Either.map(callable(this.#ports.catalog.get(), request.model, client.protocol), (found) => ({ request, found }))
    )
    if (read._tag === "Left") this.#end(Exit.fail(read.left))
    if (read._tag === "Left" || this.#over) return
    const { request, found } = read.right
    const admission: Admission = {
      requestId: client.requestId,
      principal,
      modelId: found.model.id,
      priceId: found.model.priceId,
      price: found.model.price,
      protocol: client.protocol,
      streamed: request.streamed,
      estimate: estimate(request.size)
    }
    this.#over = true
    new AdmittedRequest(client, request, found.candidates, admission, this.#ports, this.#answer).admit()
  }

  #step(step: () => void): void {
    try {
      step()
    } catch (defect) {
      this.#end(Exit.die(defect))
    }
  }

  #end(exit: Exit.Exit<never, RelayRequestError>): void {
    if (this.#over) return
    this.#over = true
    this.#answer(exit)
  }
}
