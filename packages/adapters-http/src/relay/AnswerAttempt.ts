/**
 * An attempt whose answer comes whole: gathered, rewritten, and handed to the use case, which settles before it is
 * written.
 */
import type { Delivery } from "@tollgate/application/inference/Delivery"
import type { InferenceRequest } from "@tollgate/application/inference/RelayClient"
import type { UpstreamHead } from "@tollgate/application/ports/Upstreams"
import * as Effect from "effect/Effect"
import type { AnswerContext } from "./RelayProtocol.ts"
import { type Asked, type AttemptSettings, type Resume, RouteAttempt } from "./RouteAttempt.ts"

const EVENT_STREAM = /^\s*text\/event-stream\b/i

export class AnswerAttempt<Request extends InferenceRequest> extends RouteAttempt<Request> {
  readonly #context: AnswerContext
  readonly #delivery: Delivery

  constructor(
    asked: Asked<Request>,
    settings: AttemptSettings,
    resume: Resume,
    context: AnswerContext,
    delivery: Delivery
  ) {
    super(asked, settings, resume)
    this.#context = context
    this.#delivery = delivery
  }

  protected reading(head: UpstreamHead): "collecting" | undefined {
    return EVENT_STREAM.test(head.contentType) ? undefined : "collecting"
  }

  protected streamed(): boolean {
    return true
  }

  protected streamEnded(): void {}

  protected collected(body: Buffer): void {
    const { protocol, request, response } = this.asked
    const answer = protocol.answer(request, this.#context, body)
    if (answer._tag === "Left") {
      this.misanswered(answer.left)
      return
    }
    const { content, usage, body: told } = answer.right
    if (usage !== undefined) this.#delivery.report(usage)
    this.finish("served")
    this.answered = true
    this.resume(Effect.succeed({ _tag: "Answered", content, write: Effect.sync(() => response.answer(told)) }))
  }
}
