/**
 * `WholeAttempt` reads a response that is not a stream, translates it and passes it to the use case. The use case
 * settles the request before the response is written.
 */
import type { Delivery } from "@tollgate/application/inference/Delivery"
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import type { Attempt, FailedAttempt } from "@tollgate/application/inference/RouteAttempts"
import type { UpstreamHead } from "@tollgate/application/inference/Upstreams"
import type { Callback } from "@tollgate/application/ledger/InferenceLedger"
import * as Exit from "effect/Exit"
import { withoutByteOrderMark } from "../../wire/ByteOrderMark.ts"
import type { ResponseContext } from "./RelayProtocol.ts"
import { type AttemptSettings, type AttemptTarget, RouteAttempt } from "./RouteAttempt.ts"
import { usageIn } from "./UpstreamFailure.ts"

const EVENT_STREAM = /^\s*text\/event-stream\b/i

export class WholeAttempt<Request extends InferenceRequest> extends RouteAttempt<Request> {
  readonly #context: ResponseContext
  readonly #delivery: Delivery

  constructor(
    target: AttemptTarget<Request>,
    settings: AttemptSettings,
    callback: Callback<Attempt, FailedAttempt>,
    context: ResponseContext,
    delivery: Delivery
  ) {
    super(target, settings, callback)
    this.#context = context
    this.#delivery = delivery
  }

  /** Returns no frames, because the status is sent only together with the whole response. */
  errorFrames(): string {
    return ""
  }

  protected phaseAfter(head: UpstreamHead): "collecting" | undefined {
    return EVENT_STREAM.test(head.contentType) ? undefined : "collecting"
  }

  protected onStreamChunk(): boolean {
    return true
  }

  protected onStreamEnd(): void {}

  protected onWholeBody(given: Buffer): void {
    const { protocol, request, response } = this.target
    const body = withoutByteOrderMark(given)
    const translated = protocol.translate(request, this.#context, body)
    if (translated._tag === "Left") {
      this.#delivery.recordReported(usageIn(protocol, body))
      this.unusable(translated.left)
      return
    }
    const { content, usage, body: rewritten, encoding } = translated.right
    if (usage !== undefined) this.#delivery.recordReported(usage)
    this.finish("served")
    this.completed = true
    this.callback(Exit.succeed({ _tag: "Completed", content, write: () => response.writeWhole(rewritten, encoding) }))
  }
}
