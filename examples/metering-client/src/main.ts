/**
 * Reads one chat stream and computes what the gateway charges for this stream. A stream that ends early, after k > 0
 * deltas, costs the prompt and these k deltas.
 *
 *     node dist/main.js 3      # disconnects after 3 deltas; without a number, reads the whole stream
 */
import {
  chargeOf,
  costOf,
  type Ending,
  meterEvent,
  PicoPerToken,
  startMeter,
  toExactUsdMicro
} from "@tollgate/domain/metering"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { startProvider } from "./provider.ts"

const { API_KEY = "", BASE_URL = await startProvider() } = process.env
const maxDeltas = Number(process.argv[2] ?? Number.POSITIVE_INFINITY)

const messages = [{ role: "user", content: "Count to ten." }]
const requestBody = { model: "m", stream: true, stream_options: { include_usage: true }, messages }
// Prices in pico-USD per token, which is the same number as micro-USD per million tokens.
const inputPrice = PicoPerToken(1_000_000n)
const price = { input: inputPrice, cacheWrite: inputPrice, cacheRead: inputPrice, output: PicoPerToken(2_000_000n) }

let meter = startMeter("chat")

/** Meters each event that arrives, and returns how the stream ended. */
const readStream = async (): Promise<Ending> => {
  const headers = { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" }
  const url = `${BASE_URL}/v1/chat/completions`
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(requestBody) })
  if (!response.ok || response.body === null) return "failed"
  const decoder = new TextDecoder()
  let rest = ""
  for await (const bytes of response.body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines.filter((each) => each.startsWith("data: "))) {
      if (line === "data: [DONE]") return "complete"
      meter = meterEvent(meter, JSON.parse(line.slice("data: ".length)))
      if (meter.deltas === maxDeltas) return "client_gone" // leaving the loop closes the connection
    }
  }
  return "upstream_cut"
}

const ending = await readStream().catch((): Ending => "upstream_cut")
const charge = chargeOf(meter, ending, { requestBody, countTokens })
const { cacheRead, cacheWrite, input, output } = charge.charged
const prompt = input + cacheWrite + cacheRead
console.log(`${ending}: ${prompt} + ${output} tokens, ${toExactUsdMicro(costOf(charge, price))} micro-USD`)
process.exit()
