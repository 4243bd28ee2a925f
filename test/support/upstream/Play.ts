/**
 * What a supplier is to do for one request, said by the request itself in a member that the gateway passes on as it
 * does every member it does not know. For tests with many requests at a time.
 *
 *     upstream.always(asPlayed(stop))
 *     StreamClient.open(url, key, { deltas: 40, everyMillis: 25 })
 *
 * Every delta is exactly one token, so that what arrived can be counted without a tokenizer.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { chunk, completion, usage, usageChunk } from "./ChatWire.ts"
import { json, type Script, type Signal, script, signal, type Wire } from "./Script.ts"

export interface Play {
  readonly deltas: number
  readonly everyMillis?: number
  /** The supplier says nothing of usage, so it is counted by the gateway. */
  readonly unreported?: boolean
  /** What it reports for the prompt. */
  readonly promptTokens?: number
}

/** What suppliers report for the prompt unless said. */
export const PROMPT_TOKENS = 11

const TOKEN = " hello"

/** The member a request carries it in. */
export const played = (play: Play | undefined): object => (play === undefined ? {} : { play })

/** Long plays come to their regular end as soon as `stop` is fired. */
export const asPlayed =
  (stop: Signal = signal()) =>
  (request: { readonly json: () => unknown }): Script => {
    const { play = { deltas: 2 }, stream = false } = request.json() as { play?: Play; stream?: boolean }
    if (stream) return script({ steps: [(wire) => perform(play, stop, wire)] })
    const { deltas, unreported, promptTokens = PROMPT_TOKENS } = play
    const content = Array.from({ length: deltas }, () => TOKEN)
    return json(completion({ content, ...(unreported ? {} : { usage: usage(promptTokens, deltas) }) }))
  }

const perform = async (play: Play, stop: Signal, wire: Wire): Promise<void> => {
  const { deltas, everyMillis = 0, unreported, promptTokens = PROMPT_TOKENS } = play
  let over = false
  const ended = Promise.race([stop.fired, wire.gone]).then(() => {
    over = true
  })
  const say = (data: unknown) => wire.send(`data: ${JSON.stringify(data)}\n\n`)
  await say(chunk({ role: "assistant", content: "" }))
  let said = 0
  while (said < deltas && (said === 0 || !over)) {
    if (everyMillis > 0) await Promise.race([sleep(everyMillis), ended])
    await say(chunk({ content: TOKEN }))
    said += 1
  }
  await say(chunk({}, "stop"))
  if (!unreported) await say(usageChunk(usage(promptTokens, said)))
  await wire.send("data: [DONE]\n\n")
}
