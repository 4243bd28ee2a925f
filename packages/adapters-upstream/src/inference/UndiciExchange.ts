/**
 * Runs one exchange (one HTTP request and its response) with an upstream. Forwards undici's callbacks to the relay,
 * which sends the response to the client.
 *
 * The slot that `ProviderGate` granted represents one connection, and undici cannot cancel a connection that it is
 * still opening. The slot is therefore released only after the relay has closed the exchange and undici has made its
 * last callback.
 */
import type { UpstreamEvents, UpstreamExchange, Verdict } from "@tollgate/application/inference/Upstreams"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"
import type { Dispatcher } from "undici"
import type { Slot } from "./ProviderGate.ts"

type Headers = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

export class UndiciExchange implements UpstreamExchange, Dispatcher.DispatchHandler {
  readonly #events: UpstreamEvents
  readonly #slot: Slot
  /** The handle to pause and abort the request. Undefined until undici assigns the request to a connection. */
  #controller: Dispatcher.DispatchController | undefined
  /**
   * True after undici has accepted the request. An earlier failure is returned by `dispatch`. A later failure is
   * reported with `onBroken`, unless the relay has already closed the exchange.
   */
  #accepted = false
  #refusal: Error | undefined
  /** True after undici's last callback. */
  #ended = false
  /** The verdict of the relay on the provider. Undefined until the relay closes the exchange. */
  #verdict: Verdict | undefined

  constructor(events: UpstreamEvents, slot: Slot) {
    this.#events = events
    this.#slot = slot
  }

  /** Sends the request. If undici reports an error immediately, returns a failure instead of an exchange. */
  dispatch(
    dispatcher: Dispatcher,
    request: Dispatcher.DispatchOptions
  ): Either.Either<UpstreamExchange, UpstreamFailed> {
    dispatcher.dispatch(request, this)
    this.#accepted = true
    if (this.#refusal === undefined) return Either.right(this)
    this.#slot.leave("undecided")
    return Either.left(new UpstreamFailed({ cause: reasonOf(this.#refusal) }))
  }

  resume(): void {
    if (!this.#ended) this.#controller?.resume()
  }

  close(verdict: Verdict): void {
    if (this.#verdict !== undefined) return
    this.#verdict = verdict
    if (this.#ended) this.#slot.leave(verdict)
    else this.#controller?.abort(closedByUs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#verdict !== undefined) controller.abort(closedByUs)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    const isInterim = status < 200
    if (isInterim || this.#verdict !== undefined) return
    if (status < 300) this.#slot.answered()
    const encoding = first(headers["content-encoding"])
    if (encoding !== undefined && encoding !== "" && encoding.toLowerCase() !== "identity") {
      controller.abort(
        new Error(`the response is encoded in ${encoding.slice(0, 40)}, which the request does not accept`)
      )
      return
    }
    this.#events.onHead({
      status,
      contentType: first(headers["content-type"]) ?? "",
      retryAfter: first(headers["retry-after"])
    })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#verdict === undefined && !this.#events.onData(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    this.#ended = true
    if (this.#verdict === undefined) this.#events.onEnd()
    else this.#slot.leave(this.#verdict)
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#ended = true
    if (!this.#accepted) {
      this.#refusal = error
      return
    }
    if (this.#verdict !== undefined) {
      const neverConnected = this.#controller === undefined
      this.#slot.leave(neverConnected && this.#verdict === "undecided" ? "failed" : this.#verdict)
      return
    }
    try {
      this.#events.onBroken(reasonOf(error))
    } catch {
      // An exception in the relay must not affect other exchanges. The relay's own timeout ends this exchange.
    }
  }
}

const closedByUs = new Error("closed by the relay")

const first = (value: string | ReadonlyArray<string> | undefined): string | undefined =>
  typeof value === "string" || value === undefined ? value : value[0]

const MAX_REASON_CHARACTERS = 300

/** Returns the error code, or the error name if there is no code, followed by the message. The text is for the log. */
const reasonOf = (error: Error): string => {
  const code = "code" in error && typeof error.code === "string" ? error.code : error.name
  return `${code}: ${error.message}`.slice(0, MAX_REASON_CHARACTERS)
}
