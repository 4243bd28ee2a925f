/**
 * `ChatStream` translates a provider's stream, chunk by chunk, to the format in docs/reference/inference.md#chat-3:
 *
 *     role and content ... ─▶ finish reason ─▶ usage, if requested and reported ─▶ [DONE]
 *
 * Frames are built from the known members of chunks and choices, so an unknown member of a chunk or choice never
 * reaches the client. The `content` of a translation is read from the deltas that are written.
 */
import type { ChoiceSwitch } from "@tollgate/application/inference/DeliveredText"
import { deltaContent } from "@tollgate/domain/inference/ChatDelivered"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { type RequestId, withoutHyphens } from "@tollgate/domain/inference/InferenceRequest"
import { asArray, asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import type { ReportedUsage } from "@tollgate/domain/inference/ReportedUsage"
import { isHeartbeat, objectIn, type SseEvent } from "../../wire/SseDecoder.ts"
import { refusalIn, refusalOfError, statesError, withoutEmptyError } from "../../wire/UpstreamRefusal.ts"
import type { ResponseContext, ResponseFailure, StreamTranslator, Translation } from "../relay/RelayProtocol.ts"
import { ChoiceDeltas, type FinishReason, finishReasonOf } from "./ChatChoice.ts"
import { ChatUsage } from "./ChatUsage.ts"
import { ChunkTemplate } from "./ChunkTemplate.ts"

const DONE = "data: [DONE]\n\n"
/** The index of each choice must be smaller than this number. Any other index is a failure of the provider. */
const MAX_CHOICES = 1_024

/** Returns the id of the chat completion that responds to a request. */
export const completionIdOf = (requestId: RequestId): string => `chatcmpl-${withoutHyphens(requestId)}`

const noOutput: Translation = { frames: "", content: "", usage: undefined, end: undefined }

interface Choice {
  readonly index: number
  readonly deltas: ChoiceDeltas
  /** True if content of this choice was passed on to the client. */
  hasContent: boolean
  finished: boolean
}

export class ChatStream implements StreamTranslator {
  /**
   * The beginning of each frame with a chunk: the members that are equal in all chunks of the stream, up to `choices`.
   */
  readonly #head: string
  readonly #includeUsage: boolean
  readonly #usage = new ChatUsage()
  readonly #choices = new Map<number, Choice>()
  readonly #template = new ChunkTemplate()
  #ended = false
  // The next three fields collect the output of the current chunk.
  #frames = ""
  #content = ""
  #switches: Array<ChoiceSwitch> = []

  constructor(includeUsage: boolean, { requestId, createdAtSeconds, publicName }: ResponseContext) {
    const head = {
      id: completionIdOf(requestId),
      object: "chat.completion.chunk",
      created: createdAtSeconds,
      model: publicName
    }
    this.#head = `data: ${JSON.stringify(head).slice(0, -1)},"choices":[`
    this.#includeUsage = includeUsage
  }

  translate(event: SseEvent): Translation {
    if (this.#ended || event.data === "") return noOutput
    const text = event.event === "" ? this.#template.textIn(event.data) : undefined
    if (text !== undefined) return this.#textOnly(text)
    if (event.data.startsWith("[DONE]")) return this.#complete(true)
    try {
      const chunk = objectIn(event.data)
      if (chunk === undefined) return isHeartbeat(event) ? noOutput : this.#fail(unreadable())
      if (event.event === "error") return this.#fail(refusalOfError(chunk.error ?? chunk))
      const translation = this.chunk(chunk)
      if (this.#template.canLearn && this.#isTextOnly(translation))
        this.#template.learn(event.data, translation.content)
      return translation
    } catch {
      return this.#fail(unreadable())
    }
  }

  /** Translates a chunk whose only output is this text, for the choice with the index 0. */
  #textOnly(text: string): Translation {
    const frames = `${this.#head}{"index":0,"delta":{"content":"${text}"},"finish_reason":null}]}\n\n`
    return { frames, content: text, switches: undefined, usage: undefined, end: undefined }
  }

  #isTextOnly({ content, end, frames, usage }: Translation): boolean {
    return content !== "" && end === undefined && usage === undefined && frames === this.#textOnly(content).frames
  }

  close(): Translation {
    return this.#ended ? noOutput : this.#complete(false)
  }

  /** Translates one chunk. A caller that passes a whole completion as one chunk must then call {@link finish}. */
  chunk(chunk: JsonObject): Translation {
    const usage = this.#usage.add(chunk)
    const choices = asArray(chunk.choices)
    const hasResponse = usage !== undefined || choices.length > 0
    const failure = refusalIn(hasResponse ? withoutEmptyError(chunk) : chunk) ?? this.#writeChoices(choices)
    if (failure !== undefined) return this.#fail(failure, usage)
    return this.#frames === "" && usage === undefined ? noOutput : this.#takeOutput(usage, undefined)
  }

  /** Ends the stream as if the provider had sent `[DONE]`. */
  finish(): Translation {
    return this.#complete(true)
  }

  #writeChoices(choices: ReadonlyArray<unknown>): ResponseFailure | undefined {
    for (let position = 0; position < choices.length; position++) {
      const given = asObject(choices[position])
      const failure = given && this.#writeChoice(given, position)
      if (failure !== undefined) return failure
    }
    return undefined
  }

  #writeChoice(given: JsonObject, position: number): ResponseFailure | undefined {
    const reason = finishReasonOf(given.finish_reason)
    if (reason === "error" || statesError(given.error)) return refusalOfError(given.error)
    const choice = this.#choiceAt(given.index ?? position)
    if (choice === undefined) return new UpstreamFailed({ cause: "a choice has an invalid index" })
    const logprobs = isPresent(given.logprobs) ? given.logprobs : undefined
    const delta = choice.deltas.normalize(asObject(given.delta) ?? {})
    if (delta !== undefined) this.#writeDelta(choice, delta, logprobs)
    const unwritten = delta === undefined ? logprobs : undefined
    if (reason !== undefined) this.#finishChoice(choice, reason, unwritten)
    else if (unwritten !== undefined) this.#writeDelta(choice, choice.deltas.start(), unwritten)
    return undefined
  }

  #choiceAt(index: unknown): Choice | undefined {
    const known = this.#choices.get(index as number)
    if (known !== undefined) return known
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= MAX_CHOICES) return undefined
    const choice = { index, deltas: new ChoiceDeltas(), hasContent: false, finished: false }
    this.#choices.set(index, choice)
    return choice
  }

  #writeDelta(choice: Choice, delta: JsonObject, logprobs: unknown): void {
    const content = deltaContent(delta)
    if (content !== "") {
      choice.hasContent = true
      if (choice.index > 0 || this.#switches.length > 0) {
        this.#switches.push({ choice: choice.index, from: this.#content.length })
      }
      this.#content += content
    }
    this.#write(choice.index, JSON.stringify(delta), "null", logprobs)
  }

  #finishChoice(choice: Choice, reason: FinishReason, logprobs?: unknown): void {
    if (choice.finished) return
    choice.finished = true
    if (!choice.deltas.started) this.#writeDelta(choice, choice.deltas.start(), undefined)
    this.#write(choice.index, "{}", `"${reason}"`, logprobs)
  }

  #write(index: number, delta: string, reason: string, logprobs: unknown): void {
    const tail = logprobs === undefined ? "" : `,"logprobs":${JSON.stringify(logprobs)}`
    this.#frames += `${this.#head}{"index":${index},"delta":${delta},"finish_reason":${reason}${tail}}]}\n\n`
  }

  /**
   * Ends the stream. `marked` is true if the provider has sent `[DONE]` or a whole completion, and false if it has only
   * closed the stream. Choices without a finish reason are accepted only if `marked` is true.
   */
  #complete(marked: boolean): Translation {
    const started = [...this.#choices.values()].filter(({ deltas }) => deltas.started)
    const hasOutput = started.some(({ finished, hasContent }) => finished || hasContent)
    if (!hasOutput || (!marked && started.some(({ finished }) => !finished))) {
      return this.#fail(
        new UpstreamFailed({ cause: hasOutput ? "the stream ended early" : "the stream has no content" })
      )
    }
    for (const choice of started) this.#finishChoice(choice, choice.deltas.hasToolCalls ? "tool_calls" : "stop")
    const usage = this.#includeUsage ? this.#usage.member : undefined
    if (usage !== undefined) this.#frames += `${this.#head}],"usage":${JSON.stringify(usage)}}\n\n`
    this.#frames += DONE
    this.#ended = true
    return this.#takeOutput(undefined, "complete")
  }

  #fail(end: ResponseFailure, usage?: ReportedUsage): Translation {
    this.#ended = true
    return { frames: "", content: "", usage, end }
  }

  #takeOutput(usage: ReportedUsage | undefined, end: "complete" | undefined): Translation {
    const switches = this.#switches.length === 0 ? undefined : this.#switches
    const translation = { frames: this.#frames, content: this.#content, switches, usage, end }
    this.#frames = ""
    this.#content = ""
    if (switches !== undefined) this.#switches = []
    return translation
  }
}

const unreadable = (): UpstreamFailed => new UpstreamFailed({ cause: "an event is not a JSON object" })

const isPresent = (value: unknown): boolean => value !== undefined && value !== null
