/**
 * Faults in chat streams: broken and unusual ones.
 */
import {
  chatFrames,
  chunk,
  completion,
  errorBody,
  usage,
  usageChunk,
  type WireUsage
} from "../../support/upstream/ChatWire.ts"
import {
  again,
  bytes,
  cut,
  done,
  event,
  inPieces,
  json,
  reset,
  type Script,
  type Step,
  script,
  stall,
  stream,
  text
} from "../../support/upstream/Script.ts"
import { type Audience, brokenAfter, type Due, type Fault, failure, refusal, type Told } from "./Fault.ts"
import { indiscretion, traces } from "./Telltales.ts"

type Says = Script | ReadonlyArray<Step> | ((audience: Audience) => ReadonlyArray<Step>)

const fault = (upstream: string, says: Says, told: Told, due: Due, timeouts: object = {}): Fault => ({
  upstream,
  asked: "stream",
  says: (audience) => {
    const said = typeof says === "function" ? says(audience) : says
    return "steps" in said ? said : script({ steps: said })
  },
  told,
  due,
  timeouts
})

const MIB = 1024 * 1024
const HELLO = " hello"
const role = event(chunk({ role: "assistant", content: "" }))
const hello = event(chunk({ content: HELLO }))
const finish = event(chunk({}, "stop"))
const figures = event(usageChunk(usage(7, 3)))
const whole = chatFrames({ content: [HELLO, HELLO, HELLO], usage: usage(7, 3) })
const said = HELLO.repeat(3)

/** No byte was relayed yet, so the error can still have a status. */
const brokenBeforeIt: ReadonlyArray<Fault> = [
  fault("answers with nothing", [], failure, "nothing"),
  fault("answers with the end of an answer only", [done], failure, "nothing"),
  fault("hangs up after its head", [cut], failure, "nothing"),
  fault("resets the connection after its head", [bytes(": hi\n\n"), reset], failure, "nothing"),
  fault("answers with a page", text("<html>\n\ndata: kwyjibo\n\n</html>", "text/html"), failure, "nothing"),
  fault("answers with JSON that is none", text("{", "application/json"), failure, "nothing"),
  fault("answers with no JSON at all", text("", "application/json"), failure, "nothing"),
  fault("begins with an error", [event(indiscretion), stall], failure, "nothing"),
  fault(
    "begins with an event of errors",
    [bytes(`event: error\ndata: ${JSON.stringify(indiscretion)}\n\n`)],
    failure,
    "nothing"
  ),
  fault(
    "begins with a limit",
    [event({ error: { code: "rate_limit_exceeded" } })],
    refusal(429, "technical_limit", "5"),
    "nothing"
  ),
  fault("answers 200 with an error as JSON", json(indiscretion), failure, "nothing"),
  fault("answers compressed", script({ headers: { "content-encoding": "br" }, steps: [hello] }), failure, "nothing"),
  fault("begins with nonsense", [bytes("data: {kwyjibo\n\n"), stall], failure, "nothing"),
  fault("begins a line that never ends", [bytes("data: "), again(bytes("x".repeat(MIB)))], failure, "nothing"),
  fault("comments for ever", [again(bytes(": thinking\n\n"), 40)], failure, "nothing", { idle_ms: 300 }),
  fault("finishes without having said anything", [finish, figures, done], { as: "answer", text: "" }, [7, 3])
]

const broken: ReadonlyArray<Fault> = [
  fault("hangs up before it says anything", [role, cut], brokenAfter(""), "nothing"),
  fault("hangs up after a word", [hello, cut], brokenAfter(HELLO), "what arrived"),
  fault("ends after a word", [hello], brokenAfter(HELLO), "what arrived"),
  fault(
    "ends in the middle of a word",
    [hello, bytes('data: {"choices":[{"index":0,"del')],
    brokenAfter(HELLO),
    "what arrived"
  ),
  ...resetAfterEachFrame(),
  fault("falls silent after a word", [hello, stall], brokenAfter(HELLO), "what arrived", { idle_ms: 600 }),
  fault("only comments after a word", [hello, again(bytes(": thinking\n\n"), 40)], brokenAfter(HELLO), "what arrived", {
    idle_ms: 600
  }),
  fault(
    "sends half a frame for ever",
    [hello, bytes("data: "), again(bytes("x"), 40)],
    brokenAfter(HELLO),
    "what arrived",
    { idle_ms: 600 }
  ),
  fault("talks until its time is over", [again(hello, 40)], brokenAfter(undefined), "what arrived", { total_ms: 600 }),
  fault("talks nonsense after a word", [hello, bytes("data: kwyjibo\n\n"), stall], brokenAfter(HELLO), "what arrived"),
  fault("sends a list after a word", [hello, bytes("data: []\n\n"), stall], brokenAfter(HELLO), "what arrived"),
  fault(
    "begins a line that never ends after a word",
    [hello, again(bytes("x".repeat(MIB)))],
    brokenAfter(HELLO),
    "what arrived"
  ),
  fault(
    "sends an event that never ends after a word",
    [hello, again(bytes(`data: ${"x".repeat(MIB)}\n`))],
    brokenAfter(HELLO),
    "what arrived"
  ),
  fault("reports an error after a word", [hello, event(indiscretion), stall], brokenAfter(HELLO), "what arrived"),
  fault(
    "reports an error and then goes on",
    [hello, event(indiscretion), hello, finish, done],
    brokenAfter(HELLO),
    "what arrived"
  ),
  fault("reports an error in a word", [hello, event({ error: "kwyjibo" })], brokenAfter(HELLO), "what arrived"),
  fault("reports an error in the choice", [hello, event(chunk({}, "error"))], brokenAfter(HELLO), "what arrived"),
  fault(
    "reports an error beside a word",
    [hello, event({ ...chunk({ content: " lost" }), ...indiscretion })],
    brokenAfter(HELLO),
    "what arrived"
  ),
  fault(
    "reports a limit after a word",
    [hello, event({ error: { code: 429 } })],
    brokenAfter(HELLO, "technical_limit"),
    "what arrived"
  ),
  fault(
    "reports an event of errors after a word",
    [hello, bytes(`event: error\ndata: ${JSON.stringify(errorBody("x", null, "server_error"))}\n\n`)],
    brokenAfter(HELLO),
    "what arrived"
  ),
  fault("reports usage, then breaks off", [hello, figures, event(indiscretion)], brokenAfter(HELLO), { prompt: 7 }),
  fault(
    "answers less than it announced",
    { ...stream([]), framing: "length", length: 10_000, steps: [hello, cut] },
    brokenAfter(HELLO),
    "what arrived"
  )
]

/** The client has every frame up to that one when the connection breaks. */
function resetAfterEachFrame(): ReadonlyArray<Fault> {
  const frames = [role, hello, hello, hello, finish]
  return [
    ...frames.map((_, i) => {
      const words = HELLO.repeat(Math.min(i, 3))
      const says = (audience: Audience) => [...frames.slice(0, i + 1), audience.has(i + 1), reset]
      return fault(
        `resets the connection after frame ${i + 1}`,
        says,
        brokenAfter(words),
        i === 0 ? "nothing" : "what arrived"
      )
    }),
    // Sent before the finish chunk, which the test can observe at the client. The client receives the usage in the last frame only.
    fault(
      "resets the connection after the usage",
      (audience) => [role, hello, hello, hello, figures, finish, audience.has(5), reset],
      brokenAfter(said),
      [7, 3]
    ),
    fault(
      "resets the connection after [DONE]",
      (audience) => [role, hello, hello, hello, finish, figures, done, audience.has(6), reset],
      { as: "answer", text: said },
      [7, 3]
    )
  ]
}

const odd = (upstream: string, says: Says, due: Due = [7, 3], content = said): Fault =>
  fault(upstream, says, { as: "answer", text: content }, due)

const WORDS = ["Grüße", ", 世界 ", "👩‍🚀", "e\u0301"]
const frameTexts = (frames: ReadonlyArray<object>, end: string) =>
  [...frames.map((frame) => `data: ${JSON.stringify(frame)}`), "data: [DONE]"].map((line) => line + end).join("")
const reported = (...all: ReadonlyArray<unknown>): ReadonlyArray<Step> => [
  role,
  hello,
  hello,
  hello,
  finish,
  ...all.map((each) => event({ ...usageChunk(usage(0, 0)), usage: each })),
  done
]
const running = (frame: object, i: number) => ({ ...frame, usage: usage(7, i) satisfies WireUsage })

const oddStreams: ReadonlyArray<Fault> = [
  odd(
    "streams byte by byte",
    [inPieces(1, frameTexts(chatFrames({ content: WORDS, usage: usage(7, 3) }), "\n\n"))],
    [7, 3],
    WORDS.join("")
  ),
  odd("streams in one piece", [bytes(frameTexts(whole, "\n\n"))]),
  odd("ends lines like a typewriter", [bytes(frameTexts(whole, "\r\n\r\n"))]),
  odd("ends lines like an old typewriter", [bytes(frameTexts(whole, "\r\r"))]),
  odd("begins with a byte order mark", [bytes("\ufeff"), bytes(frameTexts(whole, "\n\n"))]),
  odd("leaves out the blanks after colons", [bytes(frameTexts(whole, "\n\n").replaceAll("data: ", "data:"))]),
  odd("breaks its data into lines", [bytes(frameTexts(whole, "\n\n").replaceAll(',"', ',\ndata: "'))]),
  odd("numbers and names its events", [
    bytes(frameTexts(whole, "\n\n").replaceAll("data: {", "id: 1\nretry: 9\nevent: message\ndata: {"))
  ]),
  odd("comments between its events", [bytes(frameTexts(whole, "\n\n: OPENROUTER PROCESSING\n\n"))]),
  odd("leaves out the last empty line", [bytes(frameTexts(whole, "\n\n").trimEnd())]),
  odd("sends pings", [
    bytes('event: ping\ndata: {"type":"ping"}\n\n'),
    hello,
    bytes('data: {"type": "ping"}\n\n'),
    hello,
    hello,
    bytes("data: {}\n\ndata:\n\n"),
    finish,
    figures,
    done
  ]),
  odd("calls its stream something else", { ...stream(whole), headers: { "content-type": "text/plain" } }),
  odd("ends its stream by hanging up", { ...stream(whole), framing: "until close" }),
  odd("announces the length of its stream", text(frameTexts(whole, "\n\n"), "text/event-stream")),
  odd("answers whole", json(completion({ content: [said], usage: usage(7, 3) }))),
  odd("leaves out [DONE]", [role, hello, hello, hello, finish, figures]),
  odd("leaves out the finish", [role, hello, hello, hello, figures, done]),
  fault("leaves out the finish and [DONE]", [role, hello, hello, hello, figures], brokenAfter(said), [7, 3]),
  odd("finishes in words of its own", [role, hello, hello, event(chunk({ content: HELLO }, "eos")), figures, done]),
  odd("finishes twice", [role, hello, hello, hello, finish, finish, figures, done]),
  odd("goes on after [DONE]", [role, hello, hello, hello, finish, figures, done, hello, event(indiscretion), done]),
  odd("does not close after [DONE]", [role, hello, hello, hello, finish, figures, done, stall]),
  odd("reports no usage", reported(), "what arrived"),
  odd("reports null as usage", reported(null), "what arrived"),
  odd("reports that nothing was used", reported(usage(0, 0)), [0, 0]),
  odd("reports usage twice", reported(usage(5, 2), usage(7, 3))),
  odd("reports zeros after figures", reported(usage(7, 3), usage(0, 0))),
  odd("reports usage below zero", reported({ prompt_tokens: -7, completion_tokens: -3 }), "what arrived"),
  odd("reports usage in words", reported({ prompt_tokens: "7", completion_tokens: "3" }), "what arrived"),
  odd("reports usage with every chunk", stream(whole.map(running)), [7, 5]),
  odd("reports usage where it finishes", [
    role,
    hello,
    hello,
    hello,
    event({ ...chunk({}, "stop"), usage: usage(7, 3) }),
    done
  ]),
  odd("reports usage before it finishes", [role, hello, hello, hello, figures, finish, done]),
  odd("reports usage under a name of its own", [
    role,
    hello,
    hello,
    hello,
    event({ ...chunk({}, "stop"), x_groq: { usage: usage(7, 3) } }),
    done
  ]),
  odd("says who it is and what it costs", [
    ...whole.map((frame) => event({ ...frame, ...traces })),
    event({ ...usageChunk(usage(7, 3)), ...traces, usage: { ...usage(7, 3), ...traces } }),
    done
  ])
]

export const streamFaults: ReadonlyArray<Fault> = [...brokenBeforeIt, ...broken, ...oddStreams]
