/**
 * Compares the responses that clients received with the settlements. A fault is a text that describes one difference.
 */
import { PROMPT_TOKENS } from "../support/upstream/Play.ts"
import type { Received } from "./RequestLoad.ts"

/** The price of a token in micro-USD. */
export const PRICE_USD_MICRO = { input: 1n, output: 2n }

export interface Verdict {
  readonly figures: Readonly<Record<string, number>>
  readonly faults: ReadonlyArray<string>
}

export interface Settlement {
  readonly request_id: string
  readonly charged_input: string
  readonly charged_output: string
  readonly cost_pico: string
}

const faultOfComplete = (one: Received, row: Settlement | undefined): string | undefined => {
  const [input, output] = [BigInt(row?.charged_input ?? 0), BigInt(row?.charged_output ?? 0)]
  if (output > BigInt(one.tokens) || input > BigInt(PROMPT_TOKENS)) return "charged more than received"
  if (output < BigInt(one.tokens) || input < BigInt(PROMPT_TOKENS)) return "charged less than received"
  return undefined
}

const faultOfInterrupted = (one: Received, row: Settlement | undefined): string | undefined => {
  if (BigInt(row?.charged_output ?? 0) > BigInt(one.tokens)) return "charged more than received"
  if (one.tokens === 0 && isCharged(row)) return "charged although nothing was received"
  return one.body.includes('"overloaded"') ? undefined : "interrupted without the error overloaded"
}

const faultOfRefused = (one: Received, row: Settlement | undefined): string | undefined => {
  if (isCharged(row)) return "refused and charged"
  const isOverloaded = one.status === 503 && one.body.includes('"overloaded"')
  return isOverloaded ? undefined : "refused with an error other than 503 overloaded"
}

const isCharged = (row: Settlement | undefined): boolean => row !== undefined && row.cost_pico !== "0"

const isPriced = ({ charged_input, charged_output, cost_pico }: Settlement): boolean =>
  BigInt(cost_pico) ===
  (BigInt(charged_input) * PRICE_USD_MICRO.input + BigInt(charged_output) * PRICE_USD_MICRO.output) * 1_000_000n

/**
 * Checks every response and every settlement. Call it only after all requests are settled. The trial kills no gateway,
 * so a request without a response is a fault too.
 */
export const compareCharges = (received: ReadonlyArray<Received>, settlements: ReadonlyArray<Settlement>): Verdict => {
  const byId = new Map(settlements.map((row) => [row.request_id, row]))
  const counts = { streams: 0, whole: 0, interrupted: 0, lessCharged: 0, refused: 0, withoutResponse: 0 }
  const faults: Array<string> = []
  const known = new Set<string>()
  for (const one of received) {
    const row = byId.get(one.requestId)
    known.add(one.requestId)
    let fault: string | undefined
    if (one.status === 200 && one.isComplete) {
      counts[one.streamed ? "streams" : "whole"] += 1
      fault = faultOfComplete(one, row)
    } else if (one.status === 200) {
      counts.interrupted += 1
      if (BigInt(row?.charged_output ?? 0) < BigInt(one.tokens)) counts.lessCharged += 1
      fault = faultOfInterrupted(one, row)
    } else if (one.status === 0) {
      counts.withoutResponse += 1
      fault = "no response"
    } else {
      counts.refused += 1
      fault = faultOfRefused(one, row)
    }
    if (fault !== undefined) faults.push(`${fault}: ${JSON.stringify({ about: one, row })}`)
  }
  for (const row of settlements) {
    if (isCharged(row) && !known.has(row.request_id)) faults.push(`charged without a client: ${JSON.stringify(row)}`)
    if (!isPriced(row)) faults.push(`the cost is not the price of the tokens: ${JSON.stringify(row)}`)
  }
  return {
    figures: {
      requests: received.length,
      "complete streams, each charged once and exactly": counts.streams,
      "complete whole responses, each charged once and exactly": counts.whole,
      "streams that the outage ended with the error overloaded": counts.interrupted,
      "of which charged less than received": counts.lessCharged,
      "requests refused with 503 overloaded": counts.refused,
      "requests without a response": counts.withoutResponse
    },
    faults
  }
}
