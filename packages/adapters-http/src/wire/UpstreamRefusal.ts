/**
 * What a supplier's error means for the client (docs/reference/inference.md#f6). A fault in the request is the client's
 * and is told with the supplier's words, cleaned; a limit is passed on; everything else, also when a supplier refuses
 * *our* account or does not know *our* route, is a failure of ours to answer.
 */

import {
  RequestTooLarge,
  TechnicalLimit,
  UpstreamFailed,
  UpstreamRejected
} from "@tollgate/domain/inference/InferenceErrors"
import { asArray, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { cleanParam, cleanText, type ProviderNames } from "./CleanText.ts"

export type UpstreamRefusal = UpstreamRejected | RequestTooLarge | TechnicalLimit | UpstreamFailed

/** A status other than 2xx. */
export const refusalOfStatus = (
  status: number,
  retryAfter: string | undefined,
  body: Buffer,
  names: ProviderNames
): UpstreamRefusal => {
  switch (status) {
    case 400:
    case 422:
      return rejected(status, saidIn(body), names)
    case 413:
      return new RequestTooLarge({ limitBytes: null })
    case 429:
      return new TechnicalLimit({ retryAfterSeconds: retryAfterSeconds(retryAfter) })
    default:
      return new UpstreamFailed({ cause: `status ${status}` })
  }
}

/** The error that stands where an answer, or a part of one, should: as a member, or as an object of its own kind. */
export const refusalIn = (answer: JsonObject): UpstreamRefusal | undefined => {
  if (answer.error !== undefined && answer.error !== null) return refusalOfError(answer.error)
  return answer.object === "error" || answer.type === "error" ? refusalOfError(answer) : undefined
}

/** What an error under a good status means: what it would have meant under its own. Its words are not passed on. */
export const refusalOfError = (error: unknown): UpstreamRefusal => {
  const said = asObject(error)
  const signs = [said?.code, said?.status, said?.status_code, said?.type].map(String)
  const is = (...known: ReadonlyArray<string>) => signs.some((sign) => known.includes(sign))
  if (is("429", "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED")) {
    return new TechnicalLimit({ retryAfterSeconds: DEFAULT_RETRY_SECONDS })
  }
  if (is("413")) return new RequestTooLarge({ limitBytes: null })
  if (is("400", "422", "invalid_request_error")) return new UpstreamRejected({ message: REJECTED, param: null })
  return new UpstreamFailed({ cause: `an error instead of an answer${signOf(said)}` })
}

const DEFAULT_RETRY_SECONDS = 5
const MAX_RETRY_SECONDS = 60

/** Only seconds are understood, not dates: never less than one, which would be "at once". */
const retryAfterSeconds = (header: string | undefined): number => {
  const seconds = header !== undefined && /^\s*\d{1,9}(?:\.\d{1,9})?\s*$/.test(header) ? Math.ceil(Number(header)) : 0
  return seconds > 0 ? Math.min(seconds, MAX_RETRY_SECONDS) : DEFAULT_RETRY_SECONDS
}

const REJECTED = "The model does not accept this request. Check its parameters and messages."

/**
 * Some suppliers call it the request's fault when it is our key or our balance that they do not like. Only whole
 * openings count: a refusal may quote the request, and a client must not be able to make a supplier look broken.
 */
const OUR_ACCOUNT = /^(?:API key not valid|Your credit balance is too low|Billing hard limit has been reached)/

const rejected = (status: number, said: Said, names: ProviderNames): UpstreamRejected | UpstreamFailed =>
  OUR_ACCOUNT.test(said.message)
    ? new UpstreamFailed({ cause: `status ${status}, about our account` })
    : new UpstreamRejected({
        message: cleanText(said.message, names) ?? REJECTED,
        param: cleanParam(said.param, names)
      })

export interface Said {
  readonly message: string
  readonly param: unknown
  /** Codes and types of the error, outermost first. */
  readonly signs: ReadonlyArray<string>
}

/** The words in an error body, as the common kinds of servers write them. */
export const saidIn = (body: Buffer): Said => {
  const json = parsed(body)
  return saidBy(asObject(json) ?? asObject(asArray(json)[0]))
}

/** The same of a body that is read already. */
export const saidBy = (root: JsonObject | undefined): Said => {
  const error = asObject(root?.error)
  const detail = asText(root?.detail) || asText(asObject(asArray(root?.detail)[0])?.msg)
  const message = asText(error?.message) || asText(root?.error) || asText(root?.message) || detail
  const inner = asObject(error?.innererror) ?? asObject(error?.inner_error)
  const signs = [error?.code, error?.type, inner?.code, root?.code, root?.type].map(asText)
  return { message, param: error?.param ?? root?.param, signs }
}

const parsed = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

/** A code or type for the log, if it is one and not a text. */
const signOf = (said: JsonObject | undefined): string => {
  const sign = [said?.code, said?.type].find((it) => typeof it === "number" || /^\w{1,64}$/.test(asText(it)))
  return sign === undefined ? "" : `: ${sign}`
}
