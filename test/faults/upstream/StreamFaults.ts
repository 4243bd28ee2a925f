/**
 * Lists upstream faults in chat streams. A stream that breaks before it is complete causes an error. An unusual stream
 * is accepted. A word is the text of one content chunk.
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
  type Step,
  script,
  stall,
  stream,
  text
} from "../../support/upstream/Script.ts"
import {
  brokenAfter,
  type DeliveredEvents,
  type ExpectedCharge,
  type Fault,
  failure,
  refusal,
  streamFault,
  type UpstreamScript
} from "./Fault.ts"
import { identifyingError, identifyingMembers } from "./IdentifyingData.ts"

const MIB = 1024 * 1024
const HELLO = " hello"
const role = event(chunk({ role: "assistant", content: "" }))
const hello = event(chunk({ content: HELLO }))
const finish = event(chunk({}, "stop"))
const usageEvent = event(usageChunk(usage(7, 3)))
const whole = chatFrames({ content: [HELLO, HELLO, HELLO], usage: usage(7, 3) })
const DELIVERED_TEXT = HELLO.repeat(3)

/**
 * Without readable content, the gateway can still send an error status. The last fault is an empty complete response.
 */
const brokenBeforeContent: ReadonlyArray<Fault> = [
  streamFault("sends an empty body", [], failure, "nothing"),
  streamFault("sends only [DONE]", [done], failure, "nothing"),
  streamFault("closes the connection after the head", [cut], failure, "nothing"),
  streamFault("resets the connection after the head", [bytes(": hi\n\n"), reset], failure, "nothing"),
  streamFault("sends an HTML page", text("<html>\n\ndata: kwyjibo\n\n</html>", "text/html"), failure, "nothing"),
  streamFault("sends invalid JSON", text("{", "application/json"), failure, "nothing"),
  streamFault("sends an empty body with the content type of JSON", text("", "application/json"), failure, "nothing"),
  streamFault("begins with an error", [event(identifyingError), stall], failure, "nothing"),
  streamFault(
    "begins with an event named error",
    [bytes(`event: error\ndata: ${JSON.stringify(identifyingError)}\n\n`)],
    failure,
    "nothing"
  ),
  streamFault(
    "begins with a rate limit error",
    [event({ error: { code: "rate_limit_exceeded" } })],
    refusal(429, "technical_limit", "5"),
    "nothing"
  ),
  streamFault("sends status 200 with a JSON error", json(identifyingError), failure, "nothing"),
  streamFault(
    "sends a compressed body",
    script({ headers: { "content-encoding": "br" }, steps: [hello] }),
    failure,
    "nothing"
  ),
  streamFault("begins with invalid frames", [bytes("data: {kwyjibo\n\n"), stall], failure, "nothing"),
  streamFault("begins with an endless line", [bytes("data: "), again(bytes("x".repeat(MIB)))], failure, "nothing"),
  streamFault("sends comments forever", [again(bytes(": thinking\n\n"), 40)], failure, "nothing", { idle_ms: 300 }),
  streamFault("finishes without content", [finish, usageEvent, done], { kind: "complete", text: "" }, [7, 3])
]

const broken: ReadonlyArray<Fault> = [
  streamFault("closes the connection before any content", [role, cut], brokenAfter(""), "nothing"),
  streamFault("closes the connection after a word", [hello, cut], brokenAfter(HELLO), "delivered content"),
  streamFault("ends the stream after a word", [hello], brokenAfter(HELLO), "delivered content"),
  streamFault(
    "ends the stream inside a frame",
    [hello, bytes('data: {"choices":[{"index":0,"del')],
    brokenAfter(HELLO),
    "delivered content"
  ),
  ...resetAfterEachFrame(),
  streamFault("stalls after a word", [hello, stall], brokenAfter(HELLO), "delivered content", { idle_ms: 600 }),
  streamFault(
    "sends only comments after a word",
    [hello, again(bytes(": thinking\n\n"), 40)],
    brokenAfter(HELLO),
    "delivered content",
    {
      idle_ms: 600
    }
  ),
  streamFault(
    "sends an incomplete frame slowly forever",
    [hello, bytes("data: "), again(bytes("x"), 40)],
    brokenAfter(HELLO),
    "delivered content",
    { idle_ms: 600 }
  ),
  streamFault("streams until the total timeout", [again(hello, 40)], brokenAfter(undefined), "delivered content", {
    total_ms: 600
  }),
  streamFault(
    "sends an invalid frame after a word",
    [hello, bytes("data: kwyjibo\n\n"), stall],
    brokenAfter(HELLO),
    "delivered content"
  ),
  streamFault(
    "sends a JSON array after a word",
    [hello, bytes("data: []\n\n"), stall],
    brokenAfter(HELLO),
    "delivered content"
  ),
  streamFault(
    "sends an endless line after a word",
    [hello, again(bytes("x".repeat(MIB)))],
    brokenAfter(HELLO),
    "delivered content"
  ),
  streamFault(
    "sends an endless event after a word",
    [hello, again(bytes(`data: ${"x".repeat(MIB)}\n`))],
    brokenAfter(HELLO),
    "delivered content"
  ),
  streamFault(
    "sends an error after a word",
    [hello, event(identifyingError), stall],
    brokenAfter(HELLO),
    "delivered content"
  ),
  streamFault(
    "sends an error after a word and then continues",
    [hello, event(identifyingError), hello, finish, done],
    brokenAfter(HELLO),
    "delivered content"
  ),
  streamFault(
    "sends an error that is a string",
    [hello, event({ error: "kwyjibo" })],
    brokenAfter(HELLO),
    "delivered content"
  ),
  streamFault(
    "reports an error as the finish reason",
    [hello, event(chunk({}, "error"))],
    brokenAfter(HELLO),
    "delivered content"
  ),
  streamFault(
    "sends an error and a word in one chunk",
    [hello, event({ ...chunk({ content: " lost" }), ...identifyingError })],
    brokenAfter(HELLO),
    "delivered content"
  ),
  streamFault(
    "sends a rate limit error after a word",
    [hello, event({ error: { code: 429 } })],
    brokenAfter(HELLO, "technical_limit"),
    "delivered content"
  ),
  streamFault(
    "sends an event named error after a word",
    [hello, bytes(`event: error\ndata: ${JSON.stringify(errorBody("x", null, "server_error"))}\n\n`)],
    brokenAfter(HELLO),
    "delivered content"
  ),
  streamFault(
    "reports usage after a word and then an error",
    [hello, usageEvent, event(identifyingError)],
    brokenAfter(HELLO),
    {
      prompt: 7
    }
  ),
  streamFault(
    "sends less than the announced length",
    { ...stream([]), framing: "length", length: 10_000, steps: [hello, cut] },
    brokenAfter(HELLO),
    "delivered content"
  )
]

/** Returns faults that reset the connection, each at the moment when the client has received a certain frame. */
function resetAfterEachFrame(): ReadonlyArray<Fault> {
  const frames = [role, hello, hello, hello, finish]
  return [
    ...frames.map((_, i) => {
      const words = HELLO.repeat(Math.min(i, 3))
      const upstreamScript = (delivered: DeliveredEvents) => [
        ...frames.slice(0, i + 1),
        delivered.atLeast(i + 1),
        reset
      ]
      return streamFault(
        `resets the connection after frame ${i + 1}`,
        upstreamScript,
        brokenAfter(words),
        i === 0 ? "nothing" : "delivered content"
      )
    }),
    // The upstream sends the usage before the finish chunk, so the gateway has it when the client has the finish chunk.
    streamFault(
      "resets the connection after the usage",
      (delivered) => [role, hello, hello, hello, usageEvent, finish, delivered.atLeast(5), reset],
      brokenAfter(DELIVERED_TEXT),
      [7, 3]
    ),
    streamFault(
      "resets the connection after [DONE]",
      (delivered) => [role, hello, hello, hello, finish, usageEvent, done, delivered.atLeast(6), reset],
      { kind: "complete", text: DELIVERED_TEXT },
      [7, 3]
    )
  ]
}

const unusual = (
  upstream: string,
  upstreamScript: UpstreamScript,
  charge: ExpectedCharge = [7, 3],
  content = DELIVERED_TEXT
): Fault => streamFault(upstream, upstreamScript, { kind: "complete", text: content }, charge)

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
  unusual(
    "streams byte by byte",
    [inPieces(1, frameTexts(chatFrames({ content: WORDS, usage: usage(7, 3) }), "\n\n"))],
    [7, 3],
    WORDS.join("")
  ),
  unusual("streams in one piece", [bytes(frameTexts(whole, "\n\n"))]),
  unusual("ends lines with CRLF", [bytes(frameTexts(whole, "\r\n\r\n"))]),
  unusual("ends lines with CR", [bytes(frameTexts(whole, "\r\r"))]),
  unusual("begins with a byte order mark", [bytes("\ufeff"), bytes(frameTexts(whole, "\n\n"))]),
  unusual("omits the spaces after colons", [bytes(frameTexts(whole, "\n\n").replaceAll("data: ", "data:"))]),
  unusual("splits its data over several lines", [bytes(frameTexts(whole, "\n\n").replaceAll(',"', ',\ndata: "'))]),
  unusual("adds ids and names to its events", [
    bytes(frameTexts(whole, "\n\n").replaceAll("data: {", "id: 1\nretry: 9\nevent: message\ndata: {"))
  ]),
  unusual("sends comments between its events", [bytes(frameTexts(whole, "\n\n: OPENROUTER PROCESSING\n\n"))]),
  unusual("omits the last empty line", [bytes(frameTexts(whole, "\n\n").trimEnd())]),
  unusual("sends pings", [
    bytes('event: ping\ndata: {"type":"ping"}\n\n'),
    hello,
    bytes('data: {"type": "ping"}\n\n'),
    hello,
    hello,
    bytes("data: {}\n\ndata:\n\n"),
    finish,
    usageEvent,
    done
  ]),
  unusual("sends another content type", { ...stream(whole), headers: { "content-type": "text/plain" } }),
  unusual("marks the end of the stream by closing the connection", { ...stream(whole), framing: "until close" }),
  unusual("announces a content length", text(frameTexts(whole, "\n\n"), "text/event-stream")),
  unusual("sends a whole response", json(completion({ content: [DELIVERED_TEXT], usage: usage(7, 3) }))),
  unusual(
    "sends a whole response with a byte order mark",
    text(`\ufeff${JSON.stringify(completion({ content: [DELIVERED_TEXT], usage: usage(7, 3) }))}`, "application/json")
  ),
  unusual("omits [DONE]", [role, hello, hello, hello, finish, usageEvent]),
  unusual("omits the finish chunk", [role, hello, hello, hello, usageEvent, done]),
  streamFault(
    "omits the finish chunk and [DONE]",
    [role, hello, hello, hello, usageEvent],
    brokenAfter(DELIVERED_TEXT),
    [7, 3]
  ),
  unusual("sends an unknown finish reason", [
    role,
    hello,
    hello,
    event(chunk({ content: HELLO }, "eos")),
    usageEvent,
    done
  ]),
  unusual("sends two finish chunks", [role, hello, hello, hello, finish, finish, usageEvent, done]),
  unusual("continues after [DONE]", [
    role,
    hello,
    hello,
    hello,
    finish,
    usageEvent,
    done,
    hello,
    event(identifyingError),
    done
  ]),
  unusual("keeps the connection open after [DONE]", [role, hello, hello, hello, finish, usageEvent, done, stall]),
  unusual("reports no usage", reported(), "delivered content"),
  unusual("reports null as its usage", reported(null), "delivered content"),
  unusual("reports zero usage", reported(usage(0, 0)), [0, 0]),
  unusual("reports usage twice", reported(usage(5, 2), usage(7, 3))),
  unusual("reports zero usage after a first usage", reported(usage(7, 3), usage(0, 0))),
  unusual("reports negative usage", reported({ prompt_tokens: -7, completion_tokens: -3 }), "delivered content"),
  unusual("reports usage as strings", reported({ prompt_tokens: "7", completion_tokens: "3" }), "delivered content"),
  unusual("reports usage with every chunk", stream(whole.map(running)), [7, 5]),
  unusual("reports usage in the finish chunk", [
    role,
    hello,
    hello,
    hello,
    event({ ...chunk({}, "stop"), usage: usage(7, 3) }),
    done
  ]),
  unusual("reports usage before the finish chunk", [role, hello, hello, hello, usageEvent, finish, done]),
  unusual("reports usage in an unknown member", [
    role,
    hello,
    hello,
    hello,
    event({ ...chunk({}, "stop"), x_groq: { usage: usage(7, 3) } }),
    done
  ]),
  unusual("reveals its name and its cost", [
    ...whole.map((frame) => event({ ...frame, ...identifyingMembers })),
    event({ ...usageChunk(usage(7, 3)), ...identifyingMembers, usage: { ...usage(7, 3), ...identifyingMembers } }),
    done
  ])
]

export const streamFaults: ReadonlyArray<Fault> = [...brokenBeforeContent, ...broken, ...oddStreams]
