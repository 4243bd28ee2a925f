import { describe, expect, it } from "@effect/vitest"
import { RequestTraces, Traces } from "@tollgate/application/inference/RequestTrace"
import { ImageConcurrencyLimit } from "@tollgate/domain/images/ImageErrors"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { Cause, Effect, Exit, Option, Tracer } from "effect"
import { completed, TestImageRequest } from "./TestImageRequest.ts"

const REQUEST = RequestId("0193a5c2-0000-7000-8000-000000000000")

const spansOf = (request: TestImageRequest) =>
  Effect.gen(function* () {
    const ended: Array<readonly [name: string, parent: string, result: string]> = []
    const attributes: Array<readonly [string, unknown]> = []
    const tracer = Tracer.make({
      context: (run) => run(),
      span: (name, parent, context, links, startTime, kind) => ({
        _tag: "Span",
        name,
        spanId: name,
        traceId: "",
        parent,
        context,
        links,
        kind,
        sampled: true,
        attributes: new Map(),
        status: { _tag: "Started", startTime },
        end: (_, exit) => {
          const result = Exit.match(exit, {
            onSuccess: () => "ok",
            onFailure: (cause) => String(Option.getOrUndefined(Cause.failureOption(cause)))
          })
          ended.push([name, Option.match(parent, { onNone: () => "", onSome: ({ spanId }) => spanId }), result])
        },
        attribute: (key, value) => attributes.push([key, value]),
        event: () => {},
        addLinks: () => {}
      })
    })
    Object.assign(request, { requestId: REQUEST })
    yield* Effect.exit(Effect.provideService(request.result, RequestTraces, new Traces(tracer, 1, () => 0n)))
    return { ended, attributes }
  })

const aRequest = (parts: Partial<TestImageRequest> = {}) => Object.assign(new TestImageRequest(), parts)
const ROOT = "inference request"

describe("the trace of an image request", () => {
  it.effect("has a span for the admission, each attempt and the settlement", () =>
    Effect.gen(function* () {
      const failure = Effect.fail({ error: new UpstreamFailed({ cause: "a test" }), retryElsewhere: true })
      const { attributes, ended } = yield* spansOf(
        aRequest({ attempts: { first: failure, second: Effect.succeed(completed) } })
      )
      expect(ended).toEqual([
        ["admission", ROOT, "ok"],
        ["upstream", ROOT, "UpstreamFailed"],
        ["upstream", ROOT, "ok"],
        ["settlement", ROOT, "ok"],
        [ROOT, "", "ok"]
      ])
      expect(Object.fromEntries(attributes)).toMatchObject({
        request_id: REQUEST,
        model: "painter",
        protocol: "images",
        provider: "second"
      })
    })
  )

  it.effect("ends with the error of a refused admission", () =>
    Effect.gen(function* () {
      const { ended } = yield* spansOf(
        aRequest({ begins: Effect.fail(new ImageConcurrencyLimit({ retryAfterSeconds: 1 })) })
      )
      expect(ended).toEqual([
        ["admission", ROOT, "ImageConcurrencyLimit"],
        [ROOT, "", "ImageConcurrencyLimit"]
      ])
    })
  )
})
