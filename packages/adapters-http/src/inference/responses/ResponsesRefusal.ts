/**
 * The error that stands where an answer should, in an event or in a response object, and what it means.
 */
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { refusalIn, refusalOfError } from "../../wire/UpstreamRefusal.ts"
import type { ResponseFailure } from "../relay/RelayProtocol.ts"

/** Codes for a request that no model can answer, however often it is sent. Clients know them and act on some. */
const FAULTS_OF_REQUESTS: ReadonlySet<string> = new Set([
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
  /** The supplier's word for a fault in the request. */
  readonly fault: string | undefined
}

/** An event that is an error, by its type or by its `event:` name, or that tells of a response that failed. */
export const refusalInEvent = (event: JsonObject, name: string): ResponsesRefusal | undefined => {
  const response = asObject(event.response)
  const inResponse = response && refusalInResponse(response)
  if (inResponse !== undefined) return inResponse
  if (event.type === "response.failed") return { error: refusalOfError(undefined), fault: undefined }
  const error = refusalIn(event) ?? (name === "error" ? refusalOfError(event) : undefined)
  return error && withFault(error, asObject(event.error) ?? event)
}

/** A response that says that it failed, or something else in its place. */
export const refusalInResponse = (response: JsonObject): ResponsesRefusal | undefined => {
  const error = refusalIn(response)
  if (error !== undefined) return withFault(error, asObject(response.error))
  return response.status === "failed" || response.status === "cancelled"
    ? { error: new UpstreamFailed({ cause: `a response that is ${response.status}` }), fault: undefined }
    : undefined
}

const withFault = (error: ResponseFailure, said: JsonObject | undefined): ResponsesRefusal => {
  const code = asText(said?.code)
  return FAULTS_OF_REQUESTS.has(code)
    ? { error: refusalOfError({ code: 400 }), fault: code }
    : { error, fault: undefined }
}
