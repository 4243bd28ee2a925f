/**
 * Compares the charges of a server with the usage that the clients of the benchmark received.
 */
import type { LoadResult } from "./LoadGenerator.ts"
import { PRICE, type TollgateTarget } from "./Tollgate.ts"

/** The tokens in the usage of the responses that the clients received, and the number of these responses. */
export type Received = Pick<LoadResult, "promptTokens" | "completionTokens" | "requests">

export const nothingReceived: Received = { promptTokens: 0, completionTokens: 0, requests: 0 }

export const added = (received: Received, { completionTokens, promptTokens, requests }: Received): Received => ({
  promptTokens: received.promptTokens + promptTokens,
  completionTokens: received.completionTokens + completionTokens,
  requests: received.requests + requests
})

/** Checks that the charges equal the price of this usage, to the micro-USD, and that the audit finds no error. */
export const chargesMatch = async (
  tollgate: TollgateTarget,
  received: Received,
  print: (text: string) => void
): Promise<boolean> => {
  const owed = BigInt(received.promptTokens) * PRICE.input + BigInt(received.completionTokens) * PRICE.output
  const owedUsdMicro = owed / 1_000_000n
  const charged = await tollgate.chargedUsdMicro()
  const differences = await tollgate.audit()
  const agree = charged === owedUsdMicro && differences === ""
  print(
    `${agree ? "met    " : "NOT MET"}  charges: ${charged} micro-USD for ${received.requests} requests, ` +
      `${owedUsdMicro} for what the clients received; audit ${differences === "" ? "clean" : differences}`
  )
  return agree
}
