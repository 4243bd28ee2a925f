/**
 * Registers the tests that every official client must pass, with a scripted or a simulated upstream.
 */
import { floorToUsd, UsdPico } from "@tollgate/domain/money/UsdPico"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { z } from "zod"
import { signal } from "../../support/upstream/Script.ts"
import { chatClient } from "./ChatClient.ts"
import type { GatewayUnderTest } from "./GatewayUnderTest.ts"
import { messagesClients } from "./MessagesClients.ts"
import type {
  ClientRequest,
  ClientResponse,
  Connection,
  OfficialClient,
  ScriptedContent,
  Usage
} from "./OfficialClient.ts"
import { responsesClient } from "./ResponsesClient.ts"

const clients: ReadonlyArray<OfficialClient> = [chatClient, responsesClient, ...messagesClients]

const HELLO = "Say hello."
const CALL = "Call get_weather for Solo."
const TOOL_RESULT = "31 degrees, and dry"
const REASON = "Think first, and then say what you think."
const DESCRIBE = "What is in this picture?"
const STRUCTURED = "How will the weather be?"
/** A long question. The simulated upstream repeats it, so that its stream lasts until the test cuts it. */
const STORY = "Tell me a story that does not end. ".repeat(14)

const Weather = z.object({ city: z.string(), degrees: z.number().int(), rain: z.boolean() })
const Place = z.object({ city: z.string() })
const weather = {
  name: "get_weather",
  parameters: {
    type: "object" as const,
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false
  }
}
/** A PNG of one pixel. */
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

/** Fires when a scripted upstream must cut its streams. */
export const broken = signal()

/** The responses of a scripted upstream, by words of the request. A simulated upstream generates its own responses. */
export const scriptedContents: ReadonlyArray<readonly [words: string, scripted: ScriptedContent]> = [
  [HELLO, { text: "Hello there!", usage: [9, 3] }],
  [CALL, { call: { name: "get_weather", input: { city: "Solo" } }, usage: [40, 11] }],
  [TOOL_RESULT, { text: "It is warm.", usage: [60, 4] }],
  [REASON, { reasoning: "What do I think?", text: "I think.", usage: [12, 20] }],
  [DESCRIBE, { text: "A dot.", usage: [780, 3] }],
  [STRUCTURED, { text: '{"city":"Solo","degrees":31,"rain":false}', usage: [30, 14] }],
  [STORY, { text: "Once upon a time", usage: [11, 900], cutBy: broken }]
]

export const officialClients = (open: () => Promise<GatewayUnderTest>): void => {
  // All clients run in parallel, because an upstream with a realistic pace is slow.
  vi.setConfig({ maxConcurrency: 100 })
  let gateway: GatewayUnderTest
  /** The cost in pico-USD of the usage that the clients have received. */
  let due = 0n

  beforeAll(async () => {
    gateway = await open()
  }, 60_000)
  afterAll(() => gateway.close(), 60_000)

  const connect = (client: OfficialClient, key = gateway.key): Connection => client.connect(gateway.url, key)

  const costOf = (usage: Usage): bigint =>
    (["input", "cacheWrite", "cacheRead", "output"] as const).reduce(
      (sum, kind) => sum + BigInt(usage[kind]) * gateway.price[kind],
      0n
    )

  const wholeAndStreamed = async (
    client: OfficialClient,
    request: Omit<ClientRequest, "model">
  ): Promise<ReadonlyArray<ClientResponse>> => {
    const { requestWhole, requestStream } = connect(client)
    const complete = { model: gateway.model, ...request }
    const responses = await Promise.all([requestWhole(complete), requestStream(complete)])
    for (const { model, usage } of responses) {
      expect(model).toBe(gateway.model)
      expect(usage.input + usage.cacheRead + usage.cacheWrite).toBeGreaterThan(0)
      expect(usage.output).toBeGreaterThan(0)
      due += costOf(usage)
    }
    return responses
  }

  describe.concurrent("the official client", () => {
    describe.each(clients.map((client) => [client.name, client] as const))("%s", (_name, client) => {
      it("receives the same text in a whole response and in a stream", async () => {
        const [whole, streamed] = await wholeAndStreamed(client, { question: HELLO })
        expect(whole?.text).not.toBe("")
        expect(streamed?.text).toBe(whole?.text)
      })

      it("receives a response to the result of a tool call", async () => {
        for (const response of await wholeAndStreamed(client, { question: CALL, tool: weather })) {
          expect(response.call?.name).toBe("get_weather")
          expect(Place.parse(response.call?.input).city).not.toBe("")
          const after = { response, toolResult: TOOL_RESULT }
          for (const { call, text } of await wholeAndStreamed(client, { question: CALL, tool: weather, after })) {
            expect(call).toBeUndefined()
            expect(text).not.toBe("")
          }
        }
      })

      it("receives a response with reasoning", async () => {
        for (const { hasReasoning, text } of await wholeAndStreamed(client, {
          question: REASON,
          withReasoning: true
        })) {
          expect(hasReasoning).toBe(true)
          expect(text).not.toBe("")
        }
      })

      it("reads more than 700 input tokens in the usage of a request with an image", async () => {
        for (const { text, usage } of await wholeAndStreamed(client, { question: DESCRIBE, picture: PICTURE })) {
          expect(text).not.toBe("")
          expect(usage.input + usage.cacheRead).toBeGreaterThan(700)
        }
      })

      it("receives a response in the requested schema", async () => {
        for (const { parsed } of await wholeAndStreamed(client, { question: STRUCTURED, schema: Weather })) {
          expect(() => Weather.parse(parsed)).not.toThrow()
        }
      })

      it("raises an error with the request id of a refusal", async () => {
        const request = { model: gateway.model, question: HELLO }
        const refused = { requestID: expect.stringMatching(/^[0-9a-f-]{36}$/) }
        for (const how of ["requestWhole", "requestStream"] as const) {
          await expect(connect(client, "tg_wrong")[how](request)).rejects.toMatchObject({ ...refused, status: 401 })
          const unknown = connect(client)[how]({ ...request, model: "unknown" })
          await expect(unknown).rejects.toMatchObject({ ...refused, status: 404 })
        }
      })
    })
  })

  describe("after all calls", () => {
    it("the customer has paid for the usage that the clients received", async () => {
      expect(due).toBeGreaterThan(0n)
      await expect.poll(gateway.balance).toBe(floorToUsd(UsdPico(gateway.credit - due)))
    }, 40_000)

    it("a stream that is cut raises an error in every client", async () => {
      const calls = clients.flatMap((client) =>
        (["requestStream", "readEvents"] as const).map((how) => {
          const firstText = signal()
          const result = connect(client)
            [how]({ model: gateway.model, question: STORY }, firstText.fire)
            .then(
              () => "ended without an error",
              (error: unknown) => (error instanceof Error ? "raised" : error)
            )
            .then((end) => `${client.name}, ${how}: ${end}`)
          return {
            raised: `${client.name}, ${how}: raised`,
            firstText: Promise.race([firstText.fired, result]),
            result
          }
        })
      )
      await Promise.all(calls.map(({ firstText }) => firstText))
      gateway.breakStreams()
      expect(await Promise.all(calls.map(({ result }) => result))).toEqual(calls.map(({ raised }) => raised))
    })

    it("no response reveals the provider, a key or a cost", () => {
      expect(gateway.leaks()).toEqual([])
    })
  })
}
