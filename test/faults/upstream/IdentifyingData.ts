/**
 * Defines secret data that the upstreams of the fault suite send and that no client may receive.
 */
import { errorBody } from "../../support/upstream/ChatWire.ts"

export const PROVIDER = "secret-provider"
export const HIDDEN_MODEL = "hidden-model"
const HOST = "kwyjibo.example"
const COST = "0.00731"

export const leaks: ReadonlyArray<string> = [PROVIDER, HIDDEN_MODEL, "upstream-model", "kwyjibo", COST, "chatcmpl-up-1"]

export const identifyingHeaders: Readonly<Record<string, string>> = {
  server: HOST,
  via: `1.1 ${HOST}`,
  "x-request-id": "req_kwyjibo_1",
  "x-ratelimit-limit-tokens": "1234",
  "openai-organization": PROVIDER,
  "set-cookie": `session=kwyjibo; Domain=${HOST}`
}

export const identifyingMembers = {
  provider: PROVIDER,
  system_fingerprint: "fp_kwyjibo",
  x_provider: { host: HOST },
  cost: Number(COST)
}

/** An error whose message names the model, the provider, its host, its cost and a key. */
export const identifyingError = errorBody(
  `${HIDDEN_MODEL}-7 of ${PROVIDER} at https://${HOST}/v1 charged $${COST} to key sk-kwyjibo0123456789abcdefghij`,
  "kwyjibo_error",
  "kwyjibo_type"
)
