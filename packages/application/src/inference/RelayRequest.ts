/**
 * Handles one relayed request, from admission to settlement. The caller has authenticated the API key and read the
 * body.
 *
 *     find the model ─▶ check the tools ─▶ admit ─▶ try routes ─▶ settle ─▶ respond
 *
 * A request whose admission is practically certain (`InferenceLedger.isAmple`) is sent to its provider while the hold
 * is written. Any other request waits for the hold. In both cases, no byte of the response is written before the hold
 * is durable. A request with a durable hold is settled in every case: success, failure, an internal error or a client
 * that disconnects. A stream is settled after its end. A whole response is written after its settlement, so that the
 * charge is visible as soon as the client has the response. If a sweep has settled the request before, the whole
 * response is not written. If a whole response arrives within a few milliseconds, one transaction admits and settles
 * its request.
 *
 * A request waits for its hold, for its upstream and, if its response is whole, for its settlement. Each step calls the
 * next step directly (ADR 0007), because a fiber with these waits would cost about a quarter of the gateway's processor
 * time.
 */
import { callable } from "@tollgate/domain/catalog/Catalog"
import type { Principal } from "@tollgate/domain/customer/ApiKey"
import { allowsModel } from "@tollgate/domain/customer/KeyLimits"
import { estimate } from "@tollgate/domain/inference/Estimate"
import { type HostedTool, refusedTool } from "@tollgate/domain/inference/HostedTools"
import { ModelNotFound, UnsupportedTool } from "@tollgate/domain/inference/InferenceErrors"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { CurrentCatalog } from "../catalog/Catalogs.ts"
import { type Admission, type Callback, InferenceLedger } from "../ledger/InferenceLedger.ts"
import { OTHER, Traffic } from "../ledger/Traffic.ts"
import { AdmittedRequest, type Ports, type RelayRequestError } from "./AdmittedRequest.ts"
import { OpenRequests } from "./OpenRequests.ts"
import type { InferenceRequest, RelayConnection, Run, WriteResponse } from "./RelayConnection.ts"
import { RequestTraces } from "./RequestTrace.ts"
import { TokenCounter } from "./TokenCounter.ts"
import { TracedConnection, tracedLedger } from "./TracedRequest.ts"

const NO_TOOLS: ReadonlyArray<HostedTool> = []

/**
 * Handles a request and calls back once. For a whole response it calls back after the settlement, with the function
 * that writes the response, or with an error. For a stream, or if there is no whole response to write, it calls back as
 * soon as the settlement is queued. If the model is not found, a tool is refused or the admission fails, it calls back
 * without a settlement.
 */
export type RelayRequest = <Request extends InferenceRequest>(
  connection: RelayConnection<Request>,
  principal: Principal,
  request: Request,
  callback: Callback<WriteResponse | undefined, RelayRequestError | UnsupportedTool>
) => void

/** Returns the function that handles requests. The ports are looked up here, and not again for every request. */
export const makeRelayRequest = (
  run: Run
): Effect.Effect<RelayRequest, never, CurrentCatalog | InferenceLedger | OpenRequests | TokenCounter> =>
  Effect.gen(function* () {
    const catalog = yield* CurrentCatalog
    const ports: Ports = {
      ledger: yield* InferenceLedger,
      open: yield* OpenRequests,
      counter: yield* TokenCounter,
      traffic: yield* Traffic,
      run
    }
    const { traffic } = ports
    const traces = yield* RequestTraces
    const refuse = <E extends { readonly _tag: string }>(callback: Callback<never, E>, label: string, error: E) => {
      const cause = Cause.fail(error)
      traffic.refused(label, cause)
      callback(Exit.failCause(cause))
    }
    return (connection, principal, request, callback) => {
      const found = callable(catalog.get(), request.model, connection.protocol)
      if (found._tag === "Left") {
        const label = catalog.get().models.has(request.model) ? request.model : OTHER
        refuse(callback, label, found.left)
        return
      }
      const { candidates, model } = found.right
      if (!allowsModel(principal.limits, model.publicName)) {
        refuse(callback, model.publicName, new ModelNotFound({ model: request.model }))
        return
      }
      const tools = request.hostedTools ?? NO_TOOLS
      const refused = refusedTool(tools, model.hostedTools)
      if (refused !== undefined) {
        const error = new UnsupportedTool({ tool: refused.name, param: refused.param })
        refuse(callback, model.publicName, error)
        return
      }
      // The provider adds the results of a hosted tool to the prompt.
      const size = tools.length === 0 ? request.size : { ...request.size, hasUnsizedContent: true }
      const admission: Admission = {
        requestId: connection.requestId,
        principal,
        modelId: model.id,
        priceId: model.priceId,
        price: model.price,
        protocol: connection.protocol,
        streamed: request.streamed,
        estimate: estimate(size, {
          streamed: request.streamed,
          modelMaxOutputTokens: model.maxOutputTokens
        })
      }
      const trace = traces?.begin(connection.requestId, { model: model.publicName, protocol: connection.protocol })
      if (trace === undefined) new AdmittedRequest(connection, request, candidates, admission, ports, callback).admit()
      else {
        const traced = new TracedConnection(connection, trace)
        const tracedPorts = { ...ports, ledger: tracedLedger(ports.ledger, trace) }
        new AdmittedRequest(traced, request, candidates, admission, tracedPorts, (exit) => {
          traced.endAttempt(exit)
          trace.request.end(exit)
          callback(exit)
        }).admit()
      }
    }
  })
