/**
 * Registers the tests that every official client must pass, with a scripted or a simulated upstream. Two test files use them.
 */
import { floorToUsd, UsdPico } from "@tollgate/domain/money/UsdPico"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { z } from "zod"
import { signal } from "../../support/upstream/Script.ts"
import { chatClient } from "./ChatClient.ts"
import { messagesClients } from "./MessagesClients.ts"
import type { Answer, Ask, Connection, OfficialClient, Said, Usage } from "./OfficialClient.ts"
import { responsesClient } from "./ResponsesClient.ts"
import type { Venue } from "./Venue.ts"

const clients: ReadonlyArray<OfficialClient> = [chatClient, responsesClient, ...messagesClients]

const HELLO = "Say hello."
const CALL = "Call get_weather for Solo."
const FOUND = "31 degrees, and dry"
const THINK = "Think first, and then say what you think."
const LOOK = "What is in this picture?"
const SHAPE = "How will the weather be?"
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

/** The responses of a scripted upstream, by the last words of the request. A simulated upstream generates its own responses. */
export const sayings: ReadonlyArray<readonly [words: string, said: Said]> = [
  [HELLO, { text: "Hello there!", usage: [9, 3] }],
  [CALL, { call: { name: "get_weather", input: { city: "Solo" } }, usage: [40, 11] }],
  [FOUND, { text: "It is warm.", usage: [60, 4] }],
  [THINK, { thought: "What do I think?", text: "I think.", usage: [12, 20] }],
  [LOOK, { text: "A dot.", usage: [780, 3] }],
  [SHAPE, { text: '{"city":"Solo","degrees":31,"rain":false}', usage: [30, 14] }],
  [STORY, { text: "Once upon a time", usage: [11, 900], breaksAt: broken }]
]

export const officialClients = (open: () => Promise<Venue>): void => {
  // All clients run in parallel, because an upstream with a realistic pace is slow.
  vi.setConfig({ maxConcurrency: 100 })
  let venue: Venue
  /** The cost in pico-USD of the usage that the clients have received. */
  let due = 0n

  beforeAll(async () => {
    venue = await open()
  }, 60_000)
  afterAll(() => venue.close(), 60_000)

  const connect = (client: OfficialClient, key = venue.key): Connection => client.connect(venue.url, key)

  const costOf = (usage: Usage): bigint =>
    (["input", "cacheWrite", "cacheRead", "output"] as const).reduce(
      (sum, kind) => sum + BigInt(usage[kind]) * venue.price[kind],
      0n
    )

  /** Requests a whole response and a stream. Returns the whole response and the response assembled from the stream. */
  const bothAnswers = async (client: OfficialClient, ask: Omit<Ask, "model">): Promise<ReadonlyArray<Answer>> => {
    const { answer, stream } = connect(client)
    const asked = { model: venue.model, ...ask }
    const answers = await Promise.all([answer(asked), stream(asked)])
    for (const { model, usage } of answers) {
      expect(model).toBe(venue.model)
      expect(usage.input + usage.cacheRead + usage.cacheWrite).toBeGreaterThan(0)
      expect(usage.output).toBeGreaterThan(0)
      due += costOf(usage)
    }
    return answers
  }

  describe.concurrent("the official client", () => {
    describe.each(clients)("$name", (client) => {
      it("receives the same text in a whole response and in a stream", async () => {
        const [whole, streamed] = await bothAnswers(client, { question: HELLO })
        expect(whole?.text).not.toBe("")
        expect(streamed?.text).toBe(whole?.text)
      })

      it("receives a tool call, and a response after it sends the tool result", async () => {
        for (const answer of await bothAnswers(client, { question: CALL, tool: weather })) {
          expect(answer.call?.name).toBe("get_weather")
          expect(Place.parse(answer.call?.input).city).not.toBe("")
          const after = { answer, found: FOUND }
          for (const { call, text } of await bothAnswers(client, { question: CALL, tool: weather, after })) {
            expect(call).toBeUndefined()
            expect(text).not.toBe("")
          }
        }
      })

      it("receives a response with reasoning", async () => {
        for (const { thought, text } of await bothAnswers(client, { question: THINK, thinks: true })) {
          expect(thought).toBe(true)
          expect(text).not.toBe("")
        }
      })

      it("sends an image, which is counted as more than 700 input tokens", async () => {
        for (const { text, usage } of await bothAnswers(client, { question: LOOK, picture: PICTURE })) {
          expect(text).not.toBe("")
          expect(usage.input + usage.cacheRead).toBeGreaterThan(700)
        }
      })

      it("receives a response in the requested schema", async () => {
        for (const { parsed } of await bothAnswers(client, { question: SHAPE, shape: Weather })) {
          expect(() => Weather.parse(parsed)).not.toThrow()
        }
      })

      it("raises an error with the status and the request id of a refusal", async () => {
        const ask = { model: venue.model, question: HELLO }
        const refused = { requestID: expect.stringMatching(/^[0-9a-f-]{36}$/) }
        for (const how of ["answer", "stream"] as const) {
          await expect(connect(client, "tg_wrong")[how](ask)).rejects.toMatchObject({ ...refused, status: 401 })
          const unknown = connect(client)[how]({ ...ask, model: "unknown" })
          await expect(unknown).rejects.toMatchObject({ ...refused, status: 404 })
        }
      })
    })
  })

  describe("after all calls", () => {
    it("the customer has paid for exactly the usage that the clients received", async () => {
      expect(due).toBeGreaterThan(0n)
      await expect.poll(venue.balance, { timeout: 20_000 }).toBe(floorToUsd(UsdPico(venue.credit - due)))
    }, 40_000)

    it("a stream that fails raises an error in each client helper", async () => {
      const listening = clients.flatMap((client) =>
        (["stream", "iterate"] as const).map((how) => {
          const heard = signal()
          const over = connect(client)
            [how]({ model: venue.model, question: STORY }, heard.fire)
            .then(
              () => "ended without an error",
              (error: unknown) => (error instanceof Error ? "raised" : error)
            )
            .then((end) => `${client.name}, ${how}: ${end}`)
          return { raised: `${client.name}, ${how}: raised`, heard: Promise.race([heard.fired, over]), over }
        })
      )
      await Promise.all(listening.map(({ heard }) => heard))
      venue.breakStreams()
      expect(await Promise.all(listening.map(({ over }) => over))).toEqual(listening.map(({ raised }) => raised))
    })

    it("no response contains the name of the provider, its host, a key or a cost", () => {
      expect(venue.leaks()).toEqual([])
    })
  })
}
