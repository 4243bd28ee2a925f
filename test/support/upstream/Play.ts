/**
 * A play is an instruction to the test upstream, carried by the request itself. It is a request member that the gateway
 * forwards like every unknown member. Tests with many parallel requests use plays instead of scripts.
 *
 *     upstream.always(asPlayed(stop))
 *     StreamClient.open(url, key, { deltas: 40, everyMillis: 25 })
 *
 * Every delta is exactly one token, so a test counts delivered tokens by counting deltas.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { chunk, completion, usage, usageChunk } from "./ChatWire.ts"
import { json, type Script, type Signal, script, signal, type Wire } from "./Script.ts"

export interface Play {
  readonly deltas: number
  readonly everyMillis?: number
  /** True if the upstream reports no usage, so that the gateway counts the tokens. */
  readonly unreported?: boolean
  /** The number of prompt tokens that the upstream reports. */
  readonly promptTokens?: number
}

export const PROMPT_TOKENS = 11

/** The text of each token of output. */
export const TOKEN = " hello"

export const played = (play: Play | undefined): object => (play === undefined ? {} : { play })

/** Returns a function that converts the play of a request to a script. When `stop` fires, streams finish early. */
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
