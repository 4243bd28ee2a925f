/**
 * Sends inference requests to both gateways: short streams, streams that last longer than a failover, and whole
 * responses. The requests for whole responses start at a fixed rate, so that the time without service can be measured.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { inspect } from "node:util"
import { StreamClient } from "../support/StreamClient.ts"
import { type Play, played, TOKEN } from "../support/upstream/Play.ts"
import { activeMillis } from "./ActiveTime.ts"

export interface Received {
  readonly requestId: string
  readonly streamed: boolean
  /** 0 if the connection was lost before a response. */
  readonly status: number
  readonly isComplete: boolean
  readonly tokens: number
  /**
   * Empty if the response is complete. Otherwise the body of a response whose status is not 200, the last event of a
   * stream that did not end normally, or the text of the exception if the request for a whole response failed.
   */
  readonly body: string
  readonly beganAtMillis: number
  readonly endedAtMillis: number
}

const SHORT_STREAMS = 8
const LONG_STREAMS = 4
const SHORT: Play = { deltas: 40, everyMillis: 50 }
const LONG: Play = { deltas: 600, everyMillis: 100 }
const WHOLE_TOKENS = 5
const WHOLE_EVERY_MILLIS = 250
const PAUSE_MILLIS = 100
/**
 * The maximum number of open requests for whole responses. While the database is unavailable, admitted requests stay
 * open because they wait for their settlements.
 */
const MAX_OPEN_WHOLE = 200

export class RequestLoad {
  readonly received: Array<Received> = []
  readonly #urls: ReadonlyArray<string>
  readonly #key: string
  readonly #stopping = new AbortController()
  readonly #clients: ReadonlyArray<Promise<void>>
  readonly #openStreams = new Set<StreamClient>()
  #openWhole = 0

  constructor(urls: ReadonlyArray<string>, key: string) {
    this.#urls = urls
    this.#key = key
    const streams = (count: number, play: Play) =>
      Array.from({ length: count }, (_, nth) => this.#keepStreaming(this.#url(nth), play))
    this.#clients = [...streams(SHORT_STREAMS, SHORT), ...streams(LONG_STREAMS, LONG), this.#keepRequestingWhole()]
  }

  /** The number of requests for whole responses that began after this time and got status 200. */
  servedSince(millis: number): number {
    return this.received.filter(
      ({ beganAtMillis, status, streamed }) => !streamed && status === 200 && beganAtMillis > millis
    ).length
  }

  /** The number of streams that have delivered output and have not ended. */
  get streaming(): number {
    return [...this.#openStreams].filter(({ deltas }) => deltas.length > 0).length
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#clients)
    while (this.#openWhole > 0) await sleep(50)
  }

  /** Returns the longest time within a range in which no whole response was served, in milliseconds. */
  gapMillis(fromMillis: number, toMillis: number): number {
    const served = this.received
      .filter(({ status, streamed }) => !streamed && status === 200)
      .map(({ endedAtMillis }) => endedAtMillis)
      .filter((at) => at >= fromMillis && at <= toMillis)
      .sort((a, b) => a - b)
    const times = [fromMillis, ...served, toMillis]
    return Math.max(...times.slice(1).map((at, i) => at - (times[i] ?? at)))
  }

  #url(nth: number): string {
    return this.#urls[nth % this.#urls.length] ?? ""
  }

  async #keepStreaming(url: string, play: Play): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const beganAtMillis = activeMillis()
      const client = StreamClient.open(url, this.#key, play)
      this.#openStreams.add(client)
      const ending = await client.over
      this.#openStreams.delete(client)
      const lastEvent = ending === "done" ? "" : (client.frames.at(-1)?.data ?? "")
      this.received.push({
        requestId: client.requestId,
        streamed: true,
        status: client.status,
        isComplete: ending === "done",
        tokens: client.deltas.length,
        body: client.status === 200 ? lastEvent : client.body,
        beganAtMillis,
        endedAtMillis: activeMillis()
      })
      await sleep(PAUSE_MILLIS)
    }
  }

  async #keepRequestingWhole(): Promise<void> {
    for (let nth = 0; !this.#stopping.signal.aborted; nth++) {
      if (this.#openWhole < MAX_OPEN_WHOLE) void this.#requestWhole(this.#url(nth))
      await sleep(WHOLE_EVERY_MILLIS)
    }
  }

  async #requestWhole(url: string): Promise<void> {
    this.#openWhole += 1
    const beganAtMillis = activeMillis()
    let [status, requestId, body] = [0, "", ""]
    let isComplete = false
    try {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${this.#key}`,
          "content-type": "application/json",
          // A keep-alive connection could close while the next request is sent, which is not a fault of the gateway.
          connection: "close"
        },
        body: JSON.stringify({
          model: "m",
          messages: [{ role: "user", content: "Hi" }],
          ...played({ deltas: WHOLE_TOKENS })
        })
      })
      status = response.status
      requestId = response.headers.get("x-request-id") ?? ""
      body = await response.text()
      isComplete = status === 200
    } catch (error) {
      body = inspect(error)
    }
    const tokens = isComplete ? body.split(TOKEN).length - 1 : 0
    const endedAtMillis = activeMillis()
    const shown = isComplete ? "" : body
    this.received.push({
      requestId,
      streamed: false,
      status,
      isComplete,
      tokens,
      body: shown,
      beganAtMillis,
      endedAtMillis
    })
    this.#openWhole -= 1
  }
}
