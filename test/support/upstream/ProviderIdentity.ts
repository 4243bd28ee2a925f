/**
 * Defines data that identifies the provider. A test upstream that reveals its provider adds it to each response: as
 * headers, and as members of the body, of the usage and of errors. Clients must not see this data.
 */
const NAME = "kwyjibo"
const HOST = "kwyjibo.example"
const COST = 0.0073131

/** Texts that no response to a client may contain. */
export const identifyingWords: ReadonlyArray<string> = [NAME, String(COST), "upstream-model"]

export const identifyingHeaders: Readonly<Record<string, string>> = {
  server: HOST,
  via: `1.1 ${HOST}`,
  "x-request-id": `req_${NAME}_1`,
  "request-id": `req_${NAME}_2`,
  "openai-organization": NAME,
  "anthropic-organization-id": NAME,
  "x-ratelimit-remaining-tokens": "731",
  "set-cookie": `session=${NAME}; Domain=${HOST}`
}

const inBody = { provider: NAME, system_fingerprint: `fp_${NAME}`, x_provider: { host: HOST }, cost: COST }
const inUsage = { cost: COST, is_byok: true, cost_details: { upstream_inference_cost: COST } }
const inError = { provider_name: NAME, upstream: { host: HOST } }

/** Adds members that identify the provider to the JSON of a response or an event. */
export const withIdentity = (body: string): string =>
  body
    .replaceAll('"model":"upstream-model"', `$&,${membersOf(inBody)}`)
    .replaceAll('"usage":{', `$&${membersOf(inUsage)},`)
    .replaceAll('"error":{', `$&${membersOf(inError)},`)

const membersOf = (object: object): string => JSON.stringify(object).slice(1, -1)
