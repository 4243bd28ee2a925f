/**
 * An attempt whose answer comes whole: gathered, rewritten, and handed to the use case, which settles before it is
 * written.
 */
import type { Delivery } from "@tollgate/application/inference/Delivery"
import type { Attempt, AttemptFailed, InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import type { UpstreamHead } from "@tollgate/application/inference/Upstreams"
import type { Callback } from "@tollgate/application/ledger/InferenceLedger"
import * as Exit from "effect/Exit"
import { usageIn } from "./FailedUsage.ts"
import type { ResponseContext } from "./RelayProtocol.ts"
import { type Asked, type AttemptSettings, RouteAttempt } from "./RouteAttempt.ts"

const EVENT_STREAM = /^\s*text\/event-stream\b/i

export class WholeAttempt<Request extends InferenceRequest> extends RouteAttempt<Request> {
  readonly #context: ResponseContext
  readonly #delivery: Delivery

  constructor(
    asked: Asked<Request>,
    settings: AttemptSettings,
    answer: Callback<Attempt, AttemptFailed>,
    context: ResponseContext,
    delivery: Delivery
  ) {
    super(asked, settings, answer)
    this.#context = context
    this.#delivery = delivery
  }

  /** The status is sent only together with the whole response, so there is nothing left to end. */
  errorFrames(): string {
    return ""
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
    const answer = protocol.translate(request, this.#context, body)
    if (answer._tag === "Left") {
      this.#delivery.report(usageIn(protocol, body))
      this.misanswered(answer.left)
      return
    }
    const { content, usage, body: told } = answer.right
    if (usage !== undefined) this.#delivery.report(usage)
    this.finish("served")
    this.answered = true
    this.answer(Exit.succeed({ _tag: "Answered", content, write: () => response.answer(told) }))
  }
}
