/**
 * Traces sampled requests. A trace has one span for the request, and one for each of its steps: its admission, its
 * attempts and its settlement.
 *
 * Without a configured collector there is no object `Traces`, and tracing costs each request only a few comparisons. A
 * traced request of the relay runs the same use case, but with a connection and a ledger that start and end the spans.
 * The use case for images starts and ends its spans itself.
 */
import { type RequestId, withoutHyphens } from "@tollgate/domain/inference/InferenceRequest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

/**
 * The maximum number of traces per second and process. Further sampled requests of the same second have no trace. This
 * limit bounds the memory of spans that wait for a slow collector.
 */
const MAX_TRACES_PER_SECOND = 100
const NANOS_PER_SECOND = 1_000_000_000n

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** Returns whether a request is sampled. The last digits of the request id decide, because they are random. */
export const isSampled = (requestId: string, ratio: number): boolean =>
  parseInt(requestId.slice(-8), 16) < ratio * 0x1_0000_0000

/**
 * The trace id of a request: the hexadecimal digits of the request id. A trace can therefore be found by the request
 * id.
 */
export const traceIdOf = (requestId: RequestId): string => withoutHyphens(requestId)

export class Traces {
  readonly #tracer: Tracer.Tracer
  readonly #ratio: number
  readonly #nowNanos: () => bigint
  #second = 0n
  #begun = 0

  constructor(tracer: Tracer.Tracer, ratio: number, nowNanos: () => bigint) {
    this.#tracer = tracer
    this.#ratio = ratio
    this.#nowNanos = nowNanos
  }

  /** Returns the trace of a request; undefined if the request is not sampled, or if this second has too many traces. */
  begin(requestId: RequestId, attributes: Attributes): RequestTrace | undefined {
    if (!isSampled(requestId, this.#ratio)) return undefined
    const second = this.#nowNanos() / NANOS_PER_SECOND
    if (second !== this.#second) {
      this.#second = second
      this.#begun = 0
    }
    this.#begun += 1
    return this.#begun > MAX_TRACES_PER_SECOND
      ? undefined
      : new RequestTrace(this.#tracer, this.#nowNanos, requestId, attributes)
  }
}

export class ActiveSpan {
  readonly span: Tracer.Span
  readonly #nowNanos: () => bigint
  #isOver = false

  constructor(span: Tracer.Span, nowNanos: () => bigint, attributes: Attributes) {
    this.span = span
    this.#nowNanos = nowNanos
    this.set(attributes)
  }

  set(attributes: Attributes): void {
    for (const [name, value] of Object.entries(attributes)) if (value !== undefined) this.span.attribute(name, value)
  }

  /** Ends the span once. Of an error, only the tag is recorded, because the text of the error can contain a prompt. */
  end(exit: Exit.Exit<unknown, { readonly _tag: string }> = Exit.void): void {
    if (this.#isOver) return
    this.#isOver = true
    this.span.end(this.#nowNanos(), Exit.mapErrorCause(Exit.asVoid(exit), tagOf))
  }
}

const tagOf = (cause: Cause.Cause<{ readonly _tag: string }>): Cause.Cause<string> =>
  Cause.isInterrupted(cause)
    ? Cause.fail("client disconnected")
    : Cause.fail(Option.match(Cause.failureOption(cause), { onNone: () => "defect", onSome: ({ _tag }) => _tag }))

export class RequestTrace {
  readonly request: ActiveSpan
  readonly #tracer: Tracer.Tracer
  readonly #nowNanos: () => bigint

  constructor(tracer: Tracer.Tracer, nowNanos: () => bigint, requestId: RequestId, attributes: Attributes) {
    this.#tracer = tracer
    this.#nowNanos = nowNanos
    // An empty parent id makes the span the root of the trace.
    const root = Tracer.externalSpan({ traceId: traceIdOf(requestId), spanId: "" })
    this.request = this.#span("inference request", root, "server", { request_id: requestId, ...attributes })
  }

  start(name: string, kind: Tracer.SpanKind, attributes: Attributes = {}): ActiveSpan {
    return this.#span(name, this.request.span, kind, attributes)
  }

  #span(name: string, parent: Tracer.AnySpan, kind: Tracer.SpanKind, attributes: Attributes): ActiveSpan {
    const span = this.#tracer.span(name, Option.some(parent), Context.empty(), [], this.#nowNanos(), kind)
    return new ActiveSpan(span, this.#nowNanos, attributes)
  }
}

/** The traces of this process; undefined without a configured collector. */
export class RequestTraces extends Context.Reference<RequestTraces>()("@tollgate/application/RequestTraces", {
  defaultValue: (): Traces | undefined => undefined
}) {}
