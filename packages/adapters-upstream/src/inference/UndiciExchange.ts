/**
 * Runs one exchange (one HTTP request and its response) with an upstream. Forwards undici's callbacks to the caller:
 * the relay, or the code that serves image requests.
 *
 * The class implements undici's older callbacks (`onConnect`, `onHeaders`, ...), because they cost less. For a handler
 * with the newer callbacks (`onRequestStart`, ...), undici creates an adapter per request, calls it for each chunk, and
 * converts all response headers.
 *
 * The slot that `ProviderGate` granted represents one connection, and undici cannot cancel a connection that it is
 * still opening. After a successful `dispatch`, the slot is therefore released only when the caller has closed the
 * exchange and undici has made its last callback.
 */
import type { UpstreamEvents, UpstreamExchange, Verdict } from "@tollgate/application/inference/Upstreams"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"
import type { Dispatcher } from "undici"
import type { Slot } from "./ProviderGate.ts"

export class UndiciExchange implements UpstreamExchange, Dispatcher.DispatchHandler {
  readonly #events: UpstreamEvents
  readonly #slot: Slot
  /** Aborts the request. Undefined until undici assigns the request to a connection. */
  #abort: ((reason: Error) => void) | undefined
  /** Continues reading the response. Undefined until the response head has arrived. */
  #resume: (() => void) | undefined
  /**
   * True after the call of undici's `dispatch`. The method `dispatch` returns a failure of this call. A later failure
   * is reported with `onBroken`, unless the caller has already closed the exchange.
   */
  #dispatched = false
  #refusal: Error | undefined
  /** True after undici's last callback. */
  #ended = false
  #interimResponses = 0
  /** The caller's verdict on the provider. Undefined until the caller closes the exchange. */
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
    this.#dispatched = true
    if (this.#refusal === undefined) return Either.right(this)
    this.#slot.release("undecided")
    return Either.left(new UpstreamFailed({ cause: reasonOf(this.#refusal) }))
  }

  resume(): void {
    if (!this.#ended) this.#resume?.()
  }

  close(verdict: Verdict): void {
    if (this.#verdict !== undefined) return
    this.#verdict = verdict
    if (this.#ended) this.#slot.release(verdict)
    else this.#abort?.(closedByUs)
  }

  onConnect(abort: (reason?: Error) => void): void {
    this.#abort = abort
    if (this.#verdict !== undefined) abort(closedByUs)
  }

  onHeaders(status: number, headers: ReadonlyArray<Buffer>, resume: () => void): boolean {
    if (this.#verdict !== undefined) return true
    if (status < 200) {
      this.#interimResponses += 1
      if (this.#interimResponses > MAX_INTERIM_RESPONSES) this.#abort?.(new Error("too many interim responses"))
      return true
    }
    this.#resume = resume
    if (status < 300) this.#slot.served()
    const encoding = headerIn(headers, "content-encoding")
    // An error is passed on, because its status and `retry-after` can be used without its body.
    if (status < 300 && encoding !== undefined && !UNENCODED.has(encoding.trim().toLowerCase())) {
      this.#abort?.(new Error(`the response is encoded in ${encoding.slice(0, 40)}, which the request does not accept`))
      return true
    }
    this.#events.onHead({
      status,
      contentType: headerIn(headers, "content-type") ?? "",
      retryAfter: headerIn(headers, "retry-after")
    })
    return true
  }

  onData(chunk: Buffer): boolean {
    return this.#verdict !== undefined || this.#events.onData(chunk)
  }

  onComplete(): void {
    this.#ended = true
    if (this.#verdict === undefined) this.#events.onEnd()
    else this.#slot.release(this.#verdict)
  }

  onError(error: Error): void {
    this.#ended = true
    if (!this.#dispatched) {
      this.#refusal = error
      return
    }
    if (this.#verdict !== undefined) {
      const neverConnected = this.#abort === undefined
      this.#slot.release(neverConnected && this.#verdict === "undecided" ? "failed" : this.#verdict)
      return
    }
    try {
      this.#events.onBroken(reasonOf(error))
    } catch {
      // An exception in the caller must not affect other exchanges. The caller's timeout ends this exchange.
    }
  }
}

/** The maximum number of interim responses (1xx) to one request. A provider could send them without an end. */
const MAX_INTERIM_RESPONSES = 32

/** The values of `content-encoding` of a body that is not encoded. Some servers of event streams send `none`. */
const UNENCODED: ReadonlySet<string> = new Set(["", "identity", "none"])

const closedByUs = new Error("closed by the gateway")

/** Returns the value of the first header with this lower-case name. In `headers`, names and values alternate. */
const headerIn = (headers: ReadonlyArray<Buffer>, name: string): string | undefined => {
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const given = headers[i]
    if (given?.length === name.length && given.toString("latin1").toLowerCase() === name)
      return headers[i + 1]?.toString("latin1")
  }
  return undefined
}

const MAX_REASON_CHARACTERS = 300

/** Returns the error code, or the error name if there is no code, followed by the message. The text is for the log. */
const reasonOf = (error: Error): string => {
  const code = "code" in error && typeof error.code === "string" ? error.code : error.name
  return `${code}: ${error.message}`.slice(0, MAX_REASON_CHARACTERS)
}
