/**
 * Reads the errors that a provider sends in the responses protocol, and builds the frames that end a
 * client's stream with an error.
 */
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { errorObject, type RelayError } from "../../wire/InferenceErrors.ts"
import { refusalIn, refusalOfError } from "../../wire/UpstreamRefusal.ts"
import type { ResponseContext, ResponseFailure } from "../relay/RelayProtocol.ts"
import { frameOf } from "./ResponsesEvents.ts"
import { responseIdOf } from "./ResponsesRedaction.ts"

/** A provider's error codes for faults in the request. They are passed on, because clients react to some of them. */
const REQUEST_FAULTS: ReadonlySet<string> = new Set([
  "bio_policy",
  "context_length_exceeded",
  "empty_image_file",
  "failed_to_download_image",
  "image_content_policy_violation",
  "image_file_not_found",
  "image_file_too_large",
  "image_parse_error",
  "image_too_large",
  "image_too_small",
  "invalid_base64_image",
  "invalid_image",
  "invalid_image_format",
  "invalid_image_mode",
  "invalid_image_url",
  "invalid_prompt",
  "unsupported_image_media_type"
])

export interface ResponsesRefusal {
  readonly error: ResponseFailure
  /** The provider's error code if the request has a fault; otherwise undefined. */
  readonly fault: string | undefined
}

/**
 * Returns the refusal in an event; undefined if there is none. Refusals are, for example, a failed or cancelled
 * response, an error object, and `error` as the `type` or the `event:` line.
 */
export const refusalInEvent = (event: JsonObject, name: string): ResponsesRefusal | undefined => {
  const response = asObject(event.response)
  const inResponse = response && refusalInResponse(response)
  if (inResponse !== undefined) return inResponse
  if (event.type === "response.failed") return { error: refusalOfError(undefined), fault: undefined }
  const error = refusalIn(event) ?? (name === "error" ? refusalOfError(event) : undefined)
  return error && withFault(error, asObject(event.error) ?? event)
}

/**
 * Returns the refusal in a failed or cancelled response, in a response with an error, or in an error object that
 * replaces the response.
 */
export const refusalInResponse = (response: JsonObject): ResponsesRefusal | undefined => {
  const error = refusalIn(response)
  if (error !== undefined) return withFault(error, asObject(response.error))
  return response.status === "failed" || response.status === "cancelled"
    ? { error: new UpstreamFailed({ cause: `the response is ${response.status}` }), fault: undefined }
    : undefined
}

const withFault = (error: ResponseFailure, object: JsonObject | undefined): ResponsesRefusal => {
  const code = asText(object?.code)
  return REQUEST_FAULTS.has(code) ? { error: refusalOfError({ code: 400 }), fault: code } : { error, fault: undefined }
}

/** The part of a stream that was already sent to the client. */
export interface SentStream {
  readonly response: JsonObject
  /** True if the first event was sent. */
  readonly started: boolean
  /** The sequence number of the next event. */
  readonly nextNumber: number
}

/**
 * Returns the frames that end a stream with an error: `response.failed`, then `error`. If no event was sent yet,
 * `response.created` is the first of these frames.
 *
 * Some clients read only `response.failed`, and others read only `error`. Some clients read the error code in the
 * `error` event itself, and others in the `error` object inside this event. Without these frames, most clients would
 * treat the closed stream as complete. `fault` is the provider's error code if the request has a fault.
 */
export const failureFrames = (
  { response, started, nextNumber }: SentStream,
  error: RelayError,
  requestId: string,
  fault?: string
): string => {
  const { code, message } = errorObject(error, "openai")
  // Clients that accumulate a response need `response.created` before `response.failed`.
  const created = started ? "" : frameOf({ type: "response.created", sequence_number: nextNumber, response })
  const number = started ? nextNumber : nextNumber + 1
  const failed = { ...response, status: "failed", error: { code: fault ?? code, message } }
  return (
    created +
    frameOf({ type: "response.failed", sequence_number: number, response: failed }) +
    errorFrame(error, number + 1, requestId)
  )
}

export const errorFrame = (error: RelayError, number: number, requestId: string): string => {
  const object = errorObject(error, "openai")
  const { code, message, param } = object
  return frameOf({ type: "error", sequence_number: number, code, message, param, error: object, request_id: requestId })
}

/** Returns the response object for a stream that fails before the provider has sent a response object. */
export const startedResponse = (context: ResponseContext): JsonObject => ({
  id: responseIdOf(context),
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
