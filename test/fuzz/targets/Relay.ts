/**
 * The target of the relay: a whole gateway between a client and a provider whose bytes are the input. The rules of the
 * stream translators hold for the bytes that the client receives. If the provider reports no usage, the settlement
 * charges the content that the client has received.
 */
import type { UpstreamEvents } from "@tollgate/application/inference/Upstreams"
import { Upstreams } from "@tollgate/application/inference/Upstreams"
import { asObject } from "@tollgate/domain/inference/Json"
import * as Responses from "@tollgate/domain/inference/ResponsesDelivered"
import { Either, FastCheck, Layer } from "effect"
import {
  catalogOf,
  closeGateways,
  eventually,
  KEY,
  startGateway,
  type TestGateway
} from "../../adapters-http/inference/relay/TestGateway.ts"
import { piecesOf, randomOf } from "../Mutation.ts"
import { type FuzzTarget, must, mustEqual, type OpenTarget } from "../Target.ts"
import { providerResponse, providerStream, type StreamedProtocol } from "./ProviderStreams.ts"
import { checkClientStream } from "./StreamTranslators.ts"

/** Changes the text that the client receives. The real subject changes nothing. */
export type RelaySubject = (received: string) => string

const REQUESTS: { readonly [P in StreamedProtocol]: readonly [path: string, body: object] } = {
  chat: ["/v1/chat/completions", { messages: [{ role: "user", content: "hi" }] }],
  messages: ["/v1/messages", { messages: [{ role: "user", content: "hi" }], max_tokens: 100 }],
  responses: ["/v1/responses", { input: "hi" }]
}
const PROTOCOLS = Object.keys(REQUESTS) as ReadonlyArray<StreamedProtocol>

class ScriptedProvider {
  pieces: ReadonlyArray<Buffer> = []
  contentType = "text/event-stream"
  losesConnection = false

  readonly layer = Layer.succeed(Upstreams, {
    send: (_request, events) => {
      setImmediate(() => this.#play(events))
      return Either.right({ resume: () => {}, close: () => {} })
    },
    containsApiKey: () => false,
    loads: () => []
  })

  #play(events: UpstreamEvents): void {
    events.onHead({ status: 200, contentType: this.contentType, retryAfter: undefined })
    for (const piece of this.pieces) events.onData(piece)
    if (this.losesConnection) events.onBroken("the connection to the provider was lost")
    else events.onEnd()
  }
}

/**
 * An input is one byte for the protocol, one byte for the content type and the end of the response, and the bytes of
 * the provider.
 */
const check = async (gateway: TestGateway, provider: ScriptedProvider, subject: RelaySubject, input: Buffer) => {
  const protocol = PROTOCOLS[(input[0] ?? 0) % PROTOCOLS.length] as StreamedProtocol
  const ending = (input[1] ?? 0) % 8
  provider.pieces = piecesOf(input.subarray(2))
  provider.contentType = ending === 1 ? "application/json" : "text/event-stream"
  provider.losesConnection = ending === 2
  const { journal } = gateway
  journal.isAmple = randomOf(input)() % 2 === 0
  journal.settled.length = 0
  journal.admitted.length = 0
  const [path, body] = REQUESTS[protocol]
  const response = await fetch(gateway.url + path, {
    method: "POST",
    headers: { "x-api-key": KEY, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", stream: true, ...body })
  })
  const text = subject(await response.text())
  await eventually(() => journal.settled.length === 1, "the settlement")
  const { charge } = journal.settled[0] as (typeof journal.settled)[number]
  if (response.status !== 200) {
    must(
      response.status === 502 || response.status === 429 || response.status === 400,
      `the status is ${response.status}`
    )
    must(typeof JSON.parse(text).error?.message === "string", "the error has no envelope")
    mustEqual(`${charge.charged.output}`, "0", "the charge of a request without content")
    return
  }
  const client = await checkClientStream(protocol, text)
  // A whole response that becomes a stream can have items without deltas. The last event contains these items too.
  const inLastEvent = Responses.contentOfResponse(asObject(client.last.response) ?? {})
  const isAdapted = protocol === "responses" && provider.contentType === "application/json"
  const content = isAdapted && inLastEvent.length > client.content.length ? inLastEvent : client.content
  if (charge.source === "none") mustEqual(content, "", "content that is not charged")
  if (charge.source !== "local") return
  // It can be less than the content: a cut stream is charged at most the output that the provider has reported.
  must(charge.charged.output <= BigInt(content.length), "more characters are charged than delivered")
  if (!/usage|\\u/.test(input.toString()))
    mustEqual(`${charge.charged.output}`, `${content.length}`, "the charged characters")
}

const open = (subject: RelaySubject) => async (): Promise<OpenTarget> => {
  const provider = new ScriptedProvider()
  const gateway = await startGateway({
    catalog: catalogOf({ protocols: PROTOCOLS }),
    upstreams: provider.layer,
    keepaliveSeconds: 60
  })
  return {
    check: (input) => check(gateway, provider, subject, input),
    close: async () => {
      mustEqual(gateway.counters.openExchanges, 0, "open requests to the provider")
      await closeGateways()
    }
  }
}

const ending = FastCheck.constantFrom("\0", "\0", "\0", "\u0001", "\u0002")

export const relayTarget = (subject: RelaySubject): FuzzTarget => ({
  name: "relay",
  grammar: FastCheck.oneof(
    ...PROTOCOLS.map((protocol, i) =>
      FastCheck.tuple(
        ending,
        FastCheck.oneof(providerStream(protocol), providerStream(protocol), providerResponse(protocol))
      ).map(([ending, bytes]) => Buffer.concat([Buffer.from([i]), Buffer.from(ending), bytes]))
    )
  ),
  words: [
    "data: ",
    "data: [DONE]\n\n",
    "event: error\n",
    '"error":{},',
    '"type":"',
    '"response":',
    '"usage":{',
    "\0\u0001"
  ],
  testInputs: 100,
  open: open(subject)
})
