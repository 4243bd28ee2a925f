/** Sends chat requests with the official OpenAI client until it is stopped, and counts the failed requests. */
import { setTimeout as sleep } from "node:timers/promises"
import OpenAI from "openai"
import { TOKENS } from "./Provider.ts"

export const MODEL = "upgrade"

/** The time within which the last requests must end. */
const STOP_MILLIS = 180_000

export interface LoadOptions {
  readonly url: string
  readonly keys: ReadonlyArray<string>
  readonly streams: number
  readonly whole: number
}

export class Load {
  readonly #running: ReadonlyArray<Promise<void>>
  #stopped = false
  succeeded = { streams: 0, whole: 0 }
  /** One text per failed request, and one if some requests did not end. */
  readonly failures: Array<string> = []

  constructor({ keys, streams, url, whole }: LoadOptions) {
    // The client repeats no request, so that each failure is counted.
    const clients = keys.map((apiKey) => new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0, timeout: 60_000 }))
    const clientOf = (i: number) => clients[i % clients.length] ?? failed("there is no key")
    this.#running = [
      ...Array.from({ length: streams }, (_, i) => this.#repeat("streams", () => stream(clientOf(i)))),
      ...Array.from({ length: whole }, (_, i) => this.#repeat("whole", () => complete(clientOf(i))))
    ]
  }

  get total(): number {
    return this.succeeded.streams + this.succeeded.whole + this.failures.length
  }

  /** Waits for the running requests. Requests that do not end count as one failure. */
  async stop(): Promise<void> {
    this.#stopped = true
    const ended = Promise.all(this.#running).then(() => true)
    const isOver = await Promise.race([ended, sleep(STOP_MILLIS, false, { ref: false })])
    if (!isOver) this.failures.push(`some requests did not end within ${STOP_MILLIS} ms`)
  }

  async #repeat(kind: "streams" | "whole", request: () => Promise<void>): Promise<void> {
    while (!this.#stopped) {
      try {
        await request()
        this.succeeded[kind] += 1
      } catch (error) {
        this.failures.push(`${new Date().toISOString()} ${kind}: ${String(error)}`)
        // Limits the rate of requests while the server refuses all of them.
        await sleep(200)
      }
    }
  }
}

const failed = (reason: string): never => {
  throw new Error(reason)
}

const messages = [{ role: "user" as const, content: "Write thirty words." }]

const complete = async (client: OpenAI): Promise<void> => {
  const { choices, usage } = await client.chat.completions.create({ model: MODEL, messages })
  if (choices[0]?.finish_reason !== "stop" || usage?.completion_tokens !== TOKENS) failed("the response is incomplete")
}

const stream = async (client: OpenAI): Promise<void> => {
  const options = { model: MODEL, messages, stream: true as const, stream_options: { include_usage: true } }
  let [deltas, finished, used] = [0, false, 0]
  for await (const { choices, usage } of await client.chat.completions.create(options)) {
    if (choices[0]?.delta.content) deltas += 1
    finished ||= choices[0]?.finish_reason === "stop"
    used = usage?.completion_tokens ?? used
  }
  if (deltas !== TOKENS || !finished || used !== TOKENS) failed(`the stream ended after ${deltas} deltas`)
}
