/**
 * How a responses stream ends in an error: `response.failed`, then `error`.
 *
 * Some clients look at the one, some at the other, and of the second some read its members and some the `error`
 * object inside; a stream that just ends looks finished to most of them.
 */
import type { JsonObject } from "@tollgate/domain/inference/Json"
import { errorObject, type RelayError } from "../../wire/InferenceErrors.ts"
import type { ResponseContext } from "../relay/RelayProtocol.ts"
import { frameOf } from "./ResponseFrame.ts"
import { ownId } from "./ResponseObject.ts"

/** A stream, as far as its client was told of it. */
export interface ToldStream {
  readonly response: JsonObject
  /** Its first event was told. */
  readonly begun: boolean
  /** The number of its next event. */
  readonly nextNumber: number
}

/** `fault` is the supplier's word for a fault in the request. */
export const failureFrames = (
  { response, begun, nextNumber }: ToldStream,
  error: RelayError,
  requestId: string,
  fault?: string
): string => {
  const { code, message } = errorObject(error, "openai")
  // Clients that put a response together must be told that there is one before they are told that it failed.
  const created = begun ? "" : frameOf({ type: "response.created", sequence_number: nextNumber, response })
  const number = begun ? nextNumber : nextNumber + 1
  const failed = { ...response, status: "failed", error: { code: fault ?? code, message } }
  return (
    created +
    frameOf({ type: "response.failed", sequence_number: number, response: failed }) +
    errorFrame(error, number + 1, requestId)
  )
}

export const errorFrame = (error: RelayError, number: number, requestId: string): string => {
  const told = errorObject(error, "openai")
  const { code, message, param } = told
  return frameOf({ type: "error", sequence_number: number, code, message, param, error: told, request_id: requestId })
}

/** Where no supplier told of one: a response that has just begun. */
export const begunResponse = (context: ResponseContext): JsonObject => ({
  id: ownId(context),
  object: "response",
  created_at: context.createdAtSeconds,
  status: "in_progress",
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  model: context.publicName,
  output: [],
  parallel_tool_calls: true,
  temperature: null,
  tool_choice: "auto",
  tools: [],
  top_p: null,
  usage: null
})
