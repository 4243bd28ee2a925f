/**
 * Brings the chunks of any supplier to the one form of the reference (docs/reference/inference.md#chat-3), chunk by
 * chunk:
 *
 *     role and content ... ─▶ finish ─▶ usage, if asked for and reported ─▶ [DONE]
 *
 * Frames are written from what was understood, never copied, so nothing a supplier adds gets through by accident. The
 * content reported is read off the very deltas that are written.
 */
import type { Turn } from "@tollgate/application/inference/DeliveredText"
import { deltaContent } from "@tollgate/domain/inference/ChatDelivered"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { type RequestId, withoutHyphens } from "@tollgate/domain/inference/InferenceRequest"
import { asArray, asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import type { ReportedUsage } from "@tollgate/domain/inference/ReportedUsage"
import type { SseEvent } from "../../wire/SseDecoder.ts"
import { refusalIn, refusalOfError } from "../../wire/UpstreamRefusal.ts"
import type { ResponseContext, ResponseFailure, StreamTranslator, Translation } from "../relay/RelayProtocol.ts"
import { ChatDeltas } from "./ChatDelta.ts"
import { ChatUsage } from "./ChatUsage.ts"
import { type FinishReason, finishReasonOf } from "./FinishReason.ts"

const DONE = "data: [DONE]\n\n"
/** More choices than any supplier gives. */
const MAX_CHOICES = 1_024

/** The id of a chat completion. */
export const chatIdOf = (requestId: RequestId): string => `chatcmpl-${withoutHyphens(requestId)}`

const nothing: Translation = { frames: "", content: "", usage: undefined, end: undefined }

interface Choice {
  readonly index: number
  readonly deltas: ChatDeltas
  /** Content was passed on. */
  spoke: boolean
  finished: boolean
}

export class ChatStream implements StreamTranslator {
  /** What all chunks of a stream have in common, up to their choices. */
  readonly #head: string
  readonly #includeUsage: boolean
  readonly #usage = new ChatUsage()
  readonly #choices = new Map<number, Choice>()
  #over = false
  // Of the chunk at hand.
  #frames = ""
  #content = ""
  #turns: Array<Turn> = []

  constructor(includeUsage: boolean, { requestId, createdAtSeconds, publicName }: ResponseContext) {
    const head = {
      id: chatIdOf(requestId),
      object: "chat.completion.chunk",
      created: createdAtSeconds,
      model: publicName
    }
    this.#head = `data: ${JSON.stringify(head).slice(0, -1)},"choices":[`
    this.#includeUsage = includeUsage
  }

  translate(event: SseEvent): Translation {
    if (this.#over || event.data === "") return nothing
    if (event.data.startsWith("[DONE]")) return this.#finish(true)
    try {
      const chunk = asObject(JSON.parse(event.data))
      if (chunk === undefined) return this.#break(unreadable())
      return event.event === "error" ? this.#break(refusalOfError(chunk.error ?? chunk)) : this.chunk(chunk)
    } catch {
      return this.#break(unreadable())
    }
  }

  close(): Translation {
    return this.#over ? nothing : this.#finish(false)
  }

  /** One chunk; also a whole answer in the form of one, after which only {@link finish} is left. */
  chunk(chunk: JsonObject): Translation {
    const usage = this.#usage.see(chunk)
    const broken = refusalIn(chunk) ?? this.#eachChoice(asArray(chunk.choices))
    if (broken !== undefined) return this.#break(broken, usage)
    return this.#frames === "" && usage === undefined ? nothing : this.#take(usage, undefined)
  }

  /** The supplier said that this was all. */
  finish(): Translation {
    return this.#finish(true)
  }

  #eachChoice(choices: ReadonlyArray<unknown>): ResponseFailure | undefined {
    for (let position = 0; position < choices.length; position++) {
      const given = asObject(choices[position])
      const broken = given && this.#choice(given, position)
      if (broken !== undefined) return broken
    }
    return undefined
  }

  #choice(given: JsonObject, position: number): ResponseFailure | undefined {
    const reason = finishReasonOf(given.finish_reason)
    if (reason === "error" || isThere(given.error)) return refusalOfError(given.error)
    const choice = this.#choiceAt(given.index ?? position)
    if (choice === undefined) return new UpstreamFailed({ cause: "a choice whose index is none" })
    const logprobs = isThere(given.logprobs) ? given.logprobs : undefined
    const delta = choice.deltas.clean(asObject(given.delta) ?? {})
    if (delta !== undefined) this.#speak(choice, delta, logprobs)
    const left = delta === undefined ? logprobs : undefined
    if (reason !== undefined) this.#finishChoice(choice, reason, left)
    else if (left !== undefined) this.#speak(choice, choice.deltas.begin(), left)
    return undefined
  }

  #choiceAt(index: unknown): Choice | undefined {
    const known = this.#choices.get(index as number)
    if (known !== undefined) return known
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= MAX_CHOICES) return undefined
    const choice = { index, deltas: new ChatDeltas(), spoke: false, finished: false }
    this.#choices.set(index, choice)
    return choice
  }

  #speak(choice: Choice, delta: JsonObject, logprobs: unknown): void {
    const content = deltaContent(delta)
    if (content !== "") {
      choice.spoke = true
      if (choice.index > 0 || this.#turns.length > 0) {
        this.#turns.push({ choice: choice.index, from: this.#content.length })
      }
      this.#content += content
    }
    this.#write(choice.index, JSON.stringify(delta), "null", logprobs)
  }

  #finishChoice(choice: Choice, reason: FinishReason, logprobs?: unknown): void {
    if (choice.finished) return
    choice.finished = true
    if (!choice.deltas.begun) this.#speak(choice, choice.deltas.begin(), undefined)
    this.#write(choice.index, "{}", `"${reason}"`, logprobs)
  }

  #write(index: number, delta: string, reason: string, logprobs: unknown): void {
    const tail = logprobs === undefined ? "" : `,"logprobs":${JSON.stringify(logprobs)}`
    this.#frames += `${this.#head}{"index":${index},"delta":${delta},"finish_reason":${reason}${tail}}]}\n\n`
  }

  /** A supplier that says it is done may have left out the finish; one that just stops must have sent it. */
  #finish(saidSo: boolean): Translation {
    const begun = [...this.#choices.values()].filter(({ deltas }) => deltas.begun)
    const answered = begun.some(({ finished, spoke }) => finished || spoke)
    if (!answered || (!saidSo && begun.some(({ finished }) => !finished))) {
      return this.#break(new UpstreamFailed({ cause: answered ? "ended in mid-answer" : "ended without an answer" }))
    }
    for (const choice of begun) this.#finishChoice(choice, choice.deltas.callsTools ? "tool_calls" : "stop")
    const usage = this.#includeUsage ? this.#usage.member : undefined
    if (usage !== undefined) this.#frames += `${this.#head}],"usage":${JSON.stringify(usage)}}\n\n`
    this.#frames += DONE
    this.#over = true
    return this.#take(undefined, "complete")
  }

  #break(end: ResponseFailure, usage?: ReportedUsage): Translation {
    this.#over = true
    return { frames: "", content: "", usage, end }
  }

  #take(usage: ReportedUsage | undefined, end: "complete" | undefined): Translation {
    const turns = this.#turns.length === 0 ? undefined : this.#turns
    const translation = { frames: this.#frames, content: this.#content, turns, usage, end }
    this.#frames = ""
    this.#content = ""
    if (turns !== undefined) this.#turns = []
    return translation
  }
}

const unreadable = (): UpstreamFailed => new UpstreamFailed({ cause: "a frame that is no JSON object" })

const isThere = (value: unknown): boolean => value !== undefined && value !== null
