/**
 * Sends the hostile bodies of `HostileBodies.ts` from a separate process, so that building and sending them does not
 * delay the measurements. Arguments: the port of the server and an API key.
 */
import { request as httpRequest } from "node:http"
import { constants, setPriority } from "node:os"
import { MODEL } from "../bench/BenchRequest.ts"

// A real attacker has its own machine. Here it gets the processor time that the server and the measured clients leave.
setPriority(constants.priority.PRIORITY_LOW)

const BODY_BYTES = 31 * 1024 * 1024
const CONCURRENT_BODIES = 3
/** The time for which each shape is sent. */
const ATTACK_MILLIS = 4_000

const [port = "", key = ""] = process.argv.slice(2)

const filled = (head: string, unit: string, tail: string): Buffer => {
  const times = Math.floor((BODY_BYTES - head.length - tail.length) / unit.length)
  return Buffer.from(head + unit.repeat(times - 1) + unit.replace(/,$/, "") + tail)
}

const CHAT = "/v1/chat/completions"
const COUNT = "/v1/messages/count_tokens"
const opening = `{"model":"${MODEL}","max_tokens":1,"messages":[`
const message = `${opening}{"role":"user","content":"hi"}]`
const shapes: ReadonlyArray<readonly [name: string, path: string, body: () => Buffer]> = [
  ["content of empty objects", COUNT, () => filled(`${opening}{"role":"user","content":[`, "{},", "]}]}")],
  ["empty messages (chat)", CHAT, () => filled(opening, '{"role":"user","content":""},', "]}")],
  ["empty messages (messages)", "/v1/messages", () => filled(opening, '{"role":"user","content":""},', "]}")],
  ["items (responses)", "/v1/responses", () => filled(`{"model":"${MODEL}","input":[`, '{"type":"message"},', "]}")],
  ["empty tools", CHAT, () => filled(`${message},"tools":[`, "{},", "]}")],
  ["nested arrays in an unknown member", CHAT, () => filled(`${message},"x":[`, "[[]],", "]}")],
  ["nested objects in an unknown member", CHAT, () => filled(`${message},"x":[`, '[{"":{}}],', "]}")],
  ["deep nesting", COUNT, () => filled(`${message},"x":[`, `${"[".repeat(500)}${"]".repeat(500)},`, "]}")],
  ["one long word", CHAT, () => filled(`${opening}{"role":"user","content":"`, "a", '"}]}')],
  ["escaped text", COUNT, () => filled(`${opening}{"role":"user","content":"`, "\\u0061", '"}]}')]
]

/** Returns the status; 0 if no response arrived. */
const send = (path: string, body: Buffer): Promise<number> =>
  new Promise((resolve) => {
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "content-length": body.length
    }
    const request = httpRequest(
      { host: "127.0.0.1", port, method: "POST", path, headers, agent: false },
      (response) => {
        const end = () => resolve(response.statusCode ?? 0)
        response.on("end", end).on("error", end).resume()
      }
    )
    request.on("error", () => resolve(0))
    request.end(body)
  })

const results: Record<string, string> = {}
for (const [name, path, bodyOf] of shapes) {
  const body = bodyOf()
  const statuses = new Map<number, number>()
  const until = performance.now() + ATTACK_MILLIS
  const repeat = async () => {
    while (performance.now() < until) {
      const status = await send(path, body)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT_BODIES }, repeat))
  results[name] = [...statuses].map(([status, count]) => `${count} x ${status}`).join(", ")
}
process.send?.(results)
process.disconnect()
