/**
 * One protocol of a simulated supplier: reads a request, says what goes back and when.
 */
import type { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import type { JsonObject } from "@tollgate/domain/inference/Json"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

/** Bytes of a stream, and how long after the ones before them they come. */
export interface TimedFrame {
  readonly afterMillis: number
  readonly text: string
}

export type SimulatedAnswer =
  | { readonly _tag: "Whole"; readonly afterMillis: number; readonly body: JsonObject }
  | { readonly _tag: "Stream"; readonly frames: ReadonlyArray<TimedFrame> }

/** The request is not what the protocol asks for. */
export class SimulatedRefusal extends Data.TaggedError("SimulatedRefusal")<{
  readonly status: number
  readonly message: string
  readonly param: string | null
}> {}

export interface SimulatedProtocol {
  /** After the base address: `/chat/completions`. */
  readonly path: string
  readonly answer: (request: JsonObject) => Effect.Effect<SimulatedAnswer, SimulatedRefusal, TokenCounter>
}
