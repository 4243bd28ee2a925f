/**
 * Sends lists as CSV. The response is streamed, and the number of concurrent CSV responses is limited.
 */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { CurrentParty } from "@tollgate/application/operations/CurrentParty"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

/** Maximum number of CSV responses that a server sends at the same time to all callers. */
const MAX_RESPONSES = 16
/** Maximum number of CSV responses that a server sends at the same time to one caller. */
const MAX_PER_CALLER = 2
/** Time after which a client that reads nothing is disconnected. */
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
  const counts = new Map<string, number>()
  let all = 0
  const add = (caller: string, change: 1 | -1): void => {
    const count = (counts.get(caller) ?? 0) + change
    if (count === 0) counts.delete(caller)
    else counts.set(caller, count)
    all += change
  }

  return {
    send: (caller, fileName, csv) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        if (all >= MAX_RESPONSES || (counts.get(caller) ?? 0) >= MAX_PER_CALLER) {
          return yield* new Overloaded({ retryAfterSeconds: 5 })
        }
        const response = NodeHttpServerRequest.toServerResponse(request)
        if (response.destroyed) return yield* Effect.interrupt
        add(caller, 1)
        response.once("close", () => add(caller, -1))
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
