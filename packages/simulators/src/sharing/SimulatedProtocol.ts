/**
 * Declares the interface of one protocol of the simulated upstream. A protocol reads a request and returns a response
 * with its delays.
 */
import type { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import type { JsonObject } from "@tollgate/domain/inference/Json"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

/** A part of a stream, and the delay in milliseconds before this part. */
export interface TimedFrame {
  readonly afterMillis: number
  readonly text: string
}

export type SimulatedResponse =
  | { readonly _tag: "Whole"; readonly afterMillis: number; readonly body: JsonObject }
  | { readonly _tag: "Stream"; readonly frames: ReadonlyArray<TimedFrame> }

/** The error for a request that the simulated upstream refuses. */
export class SimulatedRefusal extends Data.TaggedError("SimulatedRefusal")<{
  readonly status: number
  readonly message: string
  readonly param: string | null
}> {}

export interface SimulatedProtocol {
  /** The path after the base URL, for example `/chat/completions`. */
  readonly path: string
  readonly respond: (request: JsonObject) => Effect.Effect<SimulatedResponse, SimulatedRefusal, TokenCounter>
}
