/**
 * Maps a provider's error to the error for the client (docs/reference/inference.md#f6). The error for the client states
 * one of three causes: the request is invalid (with the provider's message in redacted form after status 400 or 422),
 * the request is too large, or the provider's rate limit is reached. Every other error is an upstream failure, for
 * example an error about the gateway's account at the provider, or status 404.
 */

import {
  RequestTooLarge,
  TechnicalLimit,
  UpstreamFailed,
  UpstreamRejected
} from "@tollgate/domain/inference/InferenceErrors"
import { asArray, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { withoutByteOrderMark } from "./ByteOrderMark.ts"
import { type ProviderNames, redactedParam, redactedText } from "./Redaction.ts"
import { DEFAULT_RETRY_SECONDS, parseRetryAfter } from "./RetryAfter.ts"

export type UpstreamRefusal = UpstreamRejected | RequestTooLarge | TechnicalLimit | UpstreamFailed

/** Returns the error for a provider's response with a status other than 2xx. */
export const refusalOfStatus = (
  status: number,
  retryAfter: string | undefined,
  body: Buffer,
  names: ProviderNames
): UpstreamRefusal => {
  switch (status) {
    case 400:
    case 422:
      return rejected(status, parseProviderError(body), names)
    case 413:
      return new RequestTooLarge({ limitBytes: null })
    case 429:
      return parseProviderError(body).codes.includes(NO_CREDIT)
        ? failedByAccount(status)
        : new TechnicalLimit({ retryAfterSeconds: parseRetryAfter(retryAfter) })
    default:
      return new UpstreamFailed({ cause: `status ${status}` })
  }
}

/**
 * Returns the error in a 2xx response or in one event of a stream: its member `error`, or the whole object if its
 * member `object` or `type` is `error`. Returns undefined if there is no error.
 */
export const refusalIn = (response: JsonObject): UpstreamRefusal | undefined => {
  if (response.error !== undefined && response.error !== null) return refusalOfError(response.error)
  return response.object === "error" || response.type === "error" ? refusalOfError(response) : undefined
}

/**
 * Returns false for a member `error` that is absent, null or empty. Some servers add a member without any statement to
 * each valid response, for example an object with empty texts.
 */
export const statesError = (error: unknown): boolean => {
  const object = asObject(error)
  return object === undefined ? !isNothing(error) : !Object.values(object).every(isNothing)
}

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || value === false || value === 0

/**
 * Returns the response with null instead of an empty error. Clients of some protocols test only whether the member has
 * a value. An object that consists only of an empty error is no response: the caller does not pass it to this function,
 * or refuses the result.
 */
export const withoutEmptyError = (response: JsonObject): JsonObject =>
  response.error === undefined || response.error === null || statesError(response.error)
    ? response
    : { ...response, error: null }

/**
 * Returns the error for an error object in a 2xx response or in an event of a stream. The status, code or type in the
 * object selects the error. The provider's message is not passed on.
 */
export const refusalOfError = (error: unknown): UpstreamRefusal => {
  const object = asObject(error)
  const codes = [object?.code, object?.status, object?.status_code, object?.type].map(asCode)
  const is = (...known: ReadonlyArray<string>) => codes.some((code) => known.includes(code))
  if (!is(NO_CREDIT) && is("429", "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED")) {
    return new TechnicalLimit({ retryAfterSeconds: DEFAULT_RETRY_SECONDS })
  }
  if (is("413")) return new RequestTooLarge({ limitBytes: null })
  if (is("400", "422", "invalid_request_error")) return new UpstreamRejected({ message: REJECTED, param: null })
  return new UpstreamFailed({ cause: `an error instead of a response${codeForLog(object)}` })
}

/** Returns the text of a code, and an empty text for other values. An object cannot always be converted to a string. */
const asCode = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value) : "")

const REJECTED = "The model does not accept this request. Check its parameters and messages."

/**
 * OpenAI's error code for an account without credit. The status is 429, but a repetition of the request fails too.
 */
const NO_CREDIT = "insufficient_quota"

const failedByAccount = (status: number): UpstreamFailed =>
  new UpstreamFailed({ cause: `status ${status}, about the gateway's account` })

/**
 * Matches messages about the gateway's API key or balance at the provider. Some providers send them with status 400.
 * Only the beginning of a message is matched: a refusal can quote the request, so a client could otherwise cause an
 * upstream failure by sending such a message.
 */
const OUR_ACCOUNT = /^(?:API key not valid|Your credit balance is too low|Billing hard limit has been reached)/

const rejected = (status: number, error: ProviderError, names: ProviderNames): UpstreamRejected | UpstreamFailed =>
  OUR_ACCOUNT.test(error.message)
    ? failedByAccount(status)
    : new UpstreamRejected({
        message: redactedText(error.message, names) ?? REJECTED,
        param: redactedParam(error.param, names)
      })

/** The error that a provider reports. */
export interface ProviderError {
  readonly message: string
  readonly param: unknown
  /** Codes and types in the error object, in its inner error and in the whole body; empty for a missing member. */
  readonly codes: ReadonlyArray<string>
}

/** Reads an error body in one of the formats of common model servers. */
export const parseProviderError = (body: Buffer): ProviderError => {
  const json = parsed(body)
  return providerErrorOf(asObject(json) ?? asObject(asArray(json)[0]))
}

/** Reads the error in a parsed body. */
export const providerErrorOf = (root: JsonObject | undefined): ProviderError => {
  const error = asObject(root?.error)
  const detail = asText(root?.detail) || asText(asObject(asArray(root?.detail)[0])?.msg)
  const message = asText(error?.message) || asText(root?.error) || asText(root?.message) || detail
  const inner = asObject(error?.innererror) ?? asObject(error?.inner_error)
  const codes = [error?.code, error?.type, inner?.code, root?.code, root?.type].map(asText)
  return { message, param: error?.param ?? root?.param, codes }
}

const parsed = (body: Buffer): unknown => {
  try {
    return JSON.parse(withoutByteOrderMark(body).toString())
  } catch {
    return undefined
  }
}

/**
 * Returns the code or type of an error for the log. Other texts are not logged, because they can contain an API key.
 */
const codeForLog = (error: JsonObject | undefined): string => {
  const code = [error?.code, error?.type].find((it) => typeof it === "number" || /^\w{1,64}$/.test(asText(it)))
  return code === undefined ? "" : `: ${code}`
}
