/**
 * Sends lists as CSV. The response is streamed, and the number of concurrent CSV responses is limited.
 */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { CallerLimit } from "@tollgate/application/operations/CallerLimit"
import { CurrentParty } from "@tollgate/application/operations/CurrentParty"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

/** Maximum number of CSV responses that a node sends at the same time. */
const MAX_RESPONSES = { total: 16, perCaller: 2 }
/** Milliseconds without traffic after which the connection is closed, for example if the client reads nothing. */
const STALL_MILLIS = 30_000

export class CsvResponses extends Context.Tag("@tollgate/adapters-http/CsvResponses")<
  CsvResponses,
  {
    /**
     * Sends the texts that `csv` returns as a file with the name `fileName`. `caller` is the id of the reseller or
     * customer.
     */
    readonly send: <E, R>(
      caller: string,
      fileName: string,
      csv: Effect.Effect<Stream.Stream<string>, E, R>
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, E | Overloaded, R | HttpServerRequest.HttpServerRequest>
  }
>() {}

export const make = (): Context.Tag.Service<CsvResponses> => {
  const limit = new CallerLimit(MAX_RESPONSES)
  return {
    send: (caller, fileName, csv) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        if (limit.isReachedBy(caller)) return yield* new Overloaded({ retryAfterSeconds: 5 })
        const response = NodeHttpServerRequest.toServerResponse(request)
        if (response.destroyed) return yield* Effect.interrupt
        limit.begin(caller)
        response.once("close", () => limit.end(caller))
        const stream = (yield* Effect.provideService(csv, CurrentParty, caller)).pipe(
          Stream.provideService(CurrentParty, caller),
          // After a failure, `@effect/platform` would end the response normally, and the client would treat a part of
          // the file as the whole file. Therefore the connection is destroyed.
          Stream.ensuringWith((exit) => (Exit.isSuccess(exit) ? Effect.void : Effect.sync(() => response.destroy()))),
          Stream.encodeText
        )
        response.socket?.setTimeout(STALL_MILLIS)
        return HttpServerResponse.stream(stream, {
          contentType: "text/csv; charset=utf-8",
          headers: { "content-disposition": `attachment; filename="${fileName}"` }
        })
      })
  }
}

export const layer: Layer.Layer<CsvResponses> = Layer.sync(CsvResponses, make)
