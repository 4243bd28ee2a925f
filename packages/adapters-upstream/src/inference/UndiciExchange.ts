/**
 * One exchange with a supplier, between undici's callbacks and the relay's.
 *
 * Its slot is given back once the relay has closed it and undici has let go of it, whichever comes last: a slot
 * stands for a connection, and one that is still being opened cannot be taken back.
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
  /** Present once the request is on a connection. */
  #controller: Dispatcher.DispatchController | undefined
  /** Undici took the request: what happens from now on is told by events. */
  #taken = false
  #refusal: Error | undefined
  /** Nothing more comes from undici. */
  #over = false
  /** Present once the relay has closed the exchange. */
  #verdict: Verdict | undefined

  constructor(events: UpstreamEvents, slot: Slot) {
    this.#events = events
    this.#slot = slot
  }

  /** Hands the request over. What undici refuses at once never was an exchange. */
  dispatch(
    dispatcher: Dispatcher,
    request: Dispatcher.DispatchOptions
  ): Either.Either<UpstreamExchange, UpstreamFailed> {
    dispatcher.dispatch(request, this)
    this.#taken = true
    if (this.#refusal === undefined) return Either.right(this)
    this.#slot.leave("undecided")
    return Either.left(new UpstreamFailed({ cause: reasonOf(this.#refusal) }))
  }

  resume(): void {
    if (!this.#over) this.#controller?.resume()
  }

  close(verdict: Verdict): void {
    if (this.#verdict !== undefined) return
    this.#verdict = verdict
    if (this.#over) this.#slot.leave(verdict)
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
      controller.abort(new Error(`answered in ${encoding.slice(0, 40)}, which was not asked for`))
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
    this.#over = true
    if (this.#verdict === undefined) this.#events.onEnd()
    else this.#slot.leave(this.#verdict)
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#over = true
    if (!this.#taken) {
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
      // A relay that breaks over being told must not break the others; its own deadline ends it.
    }
  }
}

const closedByUs = new Error("closed by the relay")

const first = (value: string | ReadonlyArray<string> | undefined): string | undefined =>
  typeof value === "string" || value === undefined ? value : value[0]

const REASON_CHARACTERS = 300

/** For the log: the code, where there is one, and the words. */
const reasonOf = (error: Error): string => {
  const code = "code" in error && typeof error.code === "string" ? error.code : error.name
  return `${code}: ${error.message}`.slice(0, REASON_CHARACTERS)
}
