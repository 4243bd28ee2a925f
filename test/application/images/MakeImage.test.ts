import { describe, expect, it } from "@effect/vitest"
import type { ImageResult } from "@tollgate/application/images/ImageConnection"
import { IMAGE_TIMEOUT_MILLIS } from "@tollgate/application/images/MakeImage"
import type { FailedAttempt, RouteError } from "@tollgate/application/inference/RouteAttempts"
import {
  ContentPolicyViolation,
  IdempotencyKeyReused,
  ImageConcurrencyLimit,
  ImageTooLarge,
  UnsupportedParameter
} from "@tollgate/domain/images/ImageErrors"
import { type EndState, reviewOf } from "@tollgate/domain/images/ImageOutcome"
import {
  CircuitOpen,
  InvalidApiKey,
  InvalidRequest,
  Overloaded,
  TechnicalLimit,
  UpstreamFailed,
  UpstreamRejected
} from "@tollgate/domain/inference/InferenceErrors"
import { unreported } from "@tollgate/domain/inference/ReportedUsage"
import { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import { Cause, Effect, Either, Exit, FastCheck, Fiber, Option, TestClock } from "effect"
import { A_KEY, A_USER, completed, IMAGE, TestImageRequest, USED } from "./TestImageRequest.ts"

type AttemptResult = Effect.Effect<ImageResult<string>, FailedAttempt<RouteError>>

const imageRequest = (parts: Partial<TestImageRequest> = {}): TestImageRequest =>
  Object.assign(new TestImageRequest(), parts)

const fails = (error: RouteError, retryElsewhere = false): AttemptResult => Effect.fail({ error, retryElsewhere })

const unsent = (error: RouteError, retryElsewhere = false): AttemptResult =>
  Effect.fail({ error, retryElsewhere, unsent: true })

const upstreamFailed = new UpstreamFailed({ cause: "a test" })
const overloaded = new Overloaded({ retryAfterSeconds: 1 })
const circuitOpen = new CircuitOpen({ retryAfterSeconds: 9 })
const technicalLimit = new TechnicalLimit({ retryAfterSeconds: 3 })

/** Returns the tag of the error, or `an image`, `interrupted` or `died`. */
const outcomeOf = <A, E extends { readonly _tag: string }>(exit: Exit.Exit<A, E>): string =>
  Exit.match(exit, {
    onSuccess: () => "an image",
    onFailure: (cause) =>
      Option.match(Cause.failureOption(cause), {
        onSome: ({ _tag }) => _tag,
        onNone: () => (Cause.isInterruptedOnly(cause) ? "interrupted" : "died")
      })
  })

const outcomeOfRequest = ({ result }: TestImageRequest) => Effect.map(Effect.exit(result), outcomeOf)

interface ExpectedEnd {
  readonly attempt: AttemptResult
  readonly expected: string
  readonly state: EndState
  readonly dispatched: boolean
}

const endings: Readonly<Record<string, ExpectedEnd>> = {
  "an image with usage": {
    attempt: Effect.succeed(completed),
    expected: "an image",
    state: "settled",
    dispatched: true
  },
  "an image without usage": {
    attempt: Effect.succeed({ ...completed, usage: unreported }),
    expected: "an image",
    state: "unmetered",
    dispatched: true
  },
  "an image that is too large": {
    attempt: Effect.succeed({ _tag: "TooLarge", usage: undefined }),
    expected: "ImageWithheld",
    state: "withheld",
    dispatched: true
  },
  "a refusal of the prompt": {
    attempt: Effect.succeed({ _tag: "Declined", error: new ContentPolicyViolation({ message: "no" }) }),
    expected: "ContentPolicyViolation",
    state: "declined",
    dispatched: true
  },
  "a failure of the provider": {
    attempt: fails(upstreamFailed),
    expected: "UpstreamFailed",
    state: "failed",
    dispatched: true
  },
  "a rate limit of the provider": {
    attempt: fails(technicalLimit),
    expected: "TechnicalLimit",
    state: "failed",
    dispatched: true
  },
  "a rejection of the request": {
    attempt: fails(new UpstreamRejected({ message: "no", param: null })),
    expected: "UpstreamRejected",
    state: "failed",
    dispatched: true
  },
  "a provider whose limit of concurrent requests is reached": {
    attempt: unsent(overloaded),
    expected: "Overloaded",
    state: "failed",
    dispatched: false
  },
  "an open circuit breaker": {
    attempt: unsent(circuitOpen),
    expected: "CircuitOpen",
    state: "failed",
    dispatched: false
  },
  "a disabled route": {
    attempt: unsent(upstreamFailed),
    expected: "UpstreamFailed",
    state: "failed",
    dispatched: false
  },
  "an internal error": { attempt: Effect.dieMessage("a bug"), expected: "died", state: "failed", dispatched: true },
  "an exchange that was interrupted": {
    attempt: Effect.interrupt,
    expected: "interrupted",
    state: "abandoned",
    dispatched: true
  }
}

describe("an image request", () => {
  for (const [what, { attempt, dispatched, state, expected }] of Object.entries(endings)) {
    it.effect(`ends once as ${state} after ${what}`, () =>
      Effect.gen(function* () {
        const it = imageRequest({ attempts: { first: attempt } })
        expect(yield* outcomeOfRequest(it)).toBe(expected)
        expect(it.finished).toMatchObject([{ state, dispatched }])
        const [outcome] = it.finished
        expect(outcome?.charge.charged).toEqual(
          state === "settled" ? { ...TokenUsage.none, ...USED.prompt, output: USED.output } : TokenUsage.none
        )
      })
    )
  }

  it.effect("returns its image, its billing and its usage", () =>
    Effect.gen(function* () {
      expect(yield* imageRequest().result).toEqual({ image: IMAGE, billing: "settled", usage: USED })
      const unmetered = imageRequest({ attempts: { first: Effect.succeed({ ...completed, usage: unreported }) } })
      expect(yield* unmetered.result).toEqual({ image: IMAGE, billing: "unmetered", usage: unreported })
    })
  )

  it.effect("is checked in this order: API key, idempotency key, body, model, balances, provider", () =>
    Effect.gen(function* () {
      const it = imageRequest({ attempts: { first: fails(upstreamFailed) } })
      it.begins = Effect.fail(new InsufficientBalance())
      it.request = { model: "unknown" }
      it.reads = Effect.fail(new UnsupportedParameter({ message: "no", param: "mask" }))
      it.idempotencyKey = Either.left(new InvalidRequest({ message: "no", param: "Idempotency-Key" }))
      it.authenticates = Effect.fail(new InvalidApiKey({ reason: "unknown" }))
      it.presentedKey = Either.left(new InvalidApiKey({ reason: "missing" }))
      expect(yield* outcomeOfRequest(it)).toBe("InvalidApiKey")
      it.presentedKey = imageRequest().presentedKey
      expect(yield* outcomeOfRequest(it)).toBe("InvalidApiKey")
      it.authenticates = Effect.void
      expect(yield* outcomeOfRequest(it)).toBe("InvalidRequest")
      it.idempotencyKey = Either.right(undefined)
      expect(yield* outcomeOfRequest(it)).toBe("UnsupportedParameter")
      it.reads = Effect.void
      expect(yield* outcomeOfRequest(it)).toBe("ModelNotFound")
      it.request = {}
      expect(yield* outcomeOfRequest(it)).toBe("InsufficientBalance")
      expect([it.begun, it.attempted, it.finished]).toEqual([[], [], []])
      it.begins = Effect.void
      expect(yield* outcomeOfRequest(it)).toBe("UpstreamFailed")
    })
  )

  const models = {
    unknown: "ModelNotFound",
    hidden: "ModelNotFound",
    retired: "ModelNotFound",
    writer: "UnsupportedEndpoint",
    editor: "UnsupportedEndpoint",
    unrouted: "UnsupportedEndpoint"
  }
  for (const [model, refusal] of Object.entries(models)) {
    it.effect(`is refused with ${refusal} for the model "${model}"`, () =>
      Effect.gen(function* () {
        const it = imageRequest({ request: { model } })
        expect(yield* outcomeOfRequest(it)).toBe(refusal)
        expect([it.begun, it.attempted, it.finished]).toEqual([[], [], []])
      })
    )
  }

  it.effect("for an edit is refused if its model cannot edit", () =>
    Effect.gen(function* () {
      const source = { format: "png", widthPx: 1, heightPx: 1, bytes: new Uint8Array(1) } as const
      expect(yield* outcomeOfRequest(imageRequest({ request: { operation: "edit", model: "painter", source } }))).toBe(
        "UnsupportedEndpoint"
      )
      expect(yield* outcomeOfRequest(imageRequest({ request: { operation: "edit", model: "editor", source } }))).toBe(
        "an image"
      )
    })
  )

  const refusals = [
    new IdempotencyKeyReused(),
    new ImageConcurrencyLimit({ retryAfterSeconds: 5 }),
    new InsufficientBalance(),
    new InvalidApiKey({ reason: "unknown" }),
    overloaded
  ]
  for (const refusal of refusals) {
    it.effect(`is not sent if its admission is refused with ${refusal._tag}`, () =>
      Effect.gen(function* () {
        const it = imageRequest({ begins: Effect.fail(refusal) })
        expect(yield* outcomeOfRequest(it)).toBe(refusal._tag)
        expect([it.attempted, it.finished]).toEqual([[], []])
      })
    )
  }

  it.effect("is not admitted if its body is refused", () =>
    Effect.gen(function* () {
      const it = imageRequest({ reads: Effect.fail(new ImageTooLarge({ message: "no" })) })
      expect(yield* outcomeOfRequest(it)).toBe("ImageTooLarge")
      expect(it.begun).toEqual([])
    })
  )

  it.effect("is admitted with its idempotency key, its customer and its estimate", () =>
    Effect.gen(function* () {
      const it = imageRequest({ request: { size: { widthPx: 1000, heightPx: 1000 }, quality: "low" } })
      yield* it.result
      expect(it.begun).toMatchObject([
        {
          idempotencyKey: "once",
          admission: {
            principal: { keyId: A_KEY, userId: A_USER },
            modelId: "painter",
            protocol: "images",
            streamed: false,
            estimate: { inputFloor: 1n, inputCeiling: 4n, output: 264n }
          }
        }
      ])
    })
  )
})

describe("the routes of an image request", () => {
  it.effect("are tried by priority", () =>
    Effect.gen(function* () {
      const retryElsewhere = imageRequest({ attempts: { first: fails(upstreamFailed, true) } })
      expect(yield* outcomeOfRequest(retryElsewhere)).toBe("an image")
      expect(retryElsewhere.attempted).toEqual(["first", "second"])
      expect(retryElsewhere.finished).toHaveLength(1)
    })
  )

  it.effect("are tried no further after a failure that allows no retry", () =>
    Effect.gen(function* () {
      const here = imageRequest({ attempts: { first: fails(upstreamFailed) } })
      expect(yield* outcomeOfRequest(here)).toBe("UpstreamFailed")
      expect(here.attempted).toEqual(["first"])
    })
  )

  const failed = (error: RouteError) => ({ error, attempt: fails(error, true) })
  const refused = (error: RouteError) => ({ error, attempt: unsent(error, true) })
  const both = [
    { first: failed(upstreamFailed), second: refused(circuitOpen), expected: "UpstreamFailed", dispatched: true },
    { first: refused(circuitOpen), second: failed(upstreamFailed), expected: "UpstreamFailed", dispatched: true },
    { first: refused(circuitOpen), second: refused(overloaded), expected: "Overloaded", dispatched: false },
    { first: refused(overloaded), second: refused(circuitOpen), expected: "Overloaded", dispatched: false },
    { first: failed(technicalLimit), second: refused(overloaded), expected: "TechnicalLimit", dispatched: true },
    { first: refused(upstreamFailed), second: refused(upstreamFailed), expected: "UpstreamFailed", dispatched: false }
  ]
  for (const { dispatched, expected, first, second } of both) {
    const failures = `${first.error._tag}, ${second.error._tag}${dispatched ? "" : ", nothing sent"}`
    it.effect(`fail with the error ${expected} after ${failures}`, () =>
      Effect.gen(function* () {
        const it = imageRequest({ attempts: { first: first.attempt, second: second.attempt } })
        expect(yield* outcomeOfRequest(it)).toBe(expected)
        expect(it.finished).toMatchObject([{ state: "failed", dispatched }])
      })
    )
  }
})

describe("the timeout of an image request", () => {
  it.effect("expires 120 seconds after the request has arrived", () =>
    Effect.gen(function* () {
      const it = imageRequest()
      it.delays.read = "100 seconds"
      it.delays.attempt = "30 seconds"
      const fiber = yield* Effect.fork(outcomeOfRequest(it))
      yield* TestClock.adjust("119 seconds")
      expect(it.aborted).toEqual([])
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(fiber)).toBe("ImageTimeout")
      expect(it.aborted).toEqual(["first"])
      expect(it.finished).toMatchObject([{ state: "timeout", dispatched: true, charge: { source: "none" } }])
    })
  )

  it.effect("expires during a slow upload", () =>
    Effect.gen(function* () {
      const it = imageRequest()
      it.delays.read = "1 hour"
      const fiber = yield* Effect.fork(outcomeOfRequest(it))
      yield* TestClock.adjust(IMAGE_TIMEOUT_MILLIS)
      expect(yield* Fiber.join(fiber)).toBe("ImageTimeout")
      expect([it.begun, it.finished]).toEqual([[], []])
    })
  )

  it.effect("ends an unsent request as failed", () =>
    Effect.gen(function* () {
      const it = imageRequest()
      it.delays.begin = "121 seconds"
      const fiber = yield* Effect.fork(outcomeOfRequest(it))
      yield* TestClock.adjust("121 seconds")
      expect(yield* Fiber.join(fiber)).toBe("ImageTimeout")
      expect(it.attempted).toEqual([])
      expect(it.finished).toMatchObject([{ state: "failed", dispatched: false }])
    })
  )

  it.effect("does not expire if the image arrives in the last millisecond", () =>
    Effect.gen(function* () {
      const it = imageRequest()
      it.delays.attempt = IMAGE_TIMEOUT_MILLIS - 1
      const fiber = yield* Effect.fork(outcomeOfRequest(it))
      yield* TestClock.adjust(IMAGE_TIMEOUT_MILLIS)
      expect(yield* Fiber.join(fiber)).toBe("an image")
    })
  )
})

describe("a client that disconnects", () => {
  it.effect("during the settlement causes no charge", () =>
    Effect.gen(function* () {
      const it = imageRequest()
      it.delays.finish = "1 second"
      const fiber = yield* Effect.fork(outcomeOfRequest(it))
      yield* TestClock.adjust("500 millis")
      it.gone = true
      yield* TestClock.adjust("500 millis")
      expect(yield* Fiber.join(fiber)).toBe("interrupted")
      expect(it.finished).toMatchObject([
        {
          state: "abandoned",
          ending: "client_gone",
          charge: { charged: TokenUsage.none, consumed: { input: 10n, output: 1_000n } }
        }
      ])
    })
  )

  it.effect("aborts the exchange with the provider immediately", () =>
    Effect.gen(function* () {
      const it = imageRequest()
      it.delays.attempt = "1 minute"
      const fiber = yield* Effect.fork(it.result)
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      expect(it.aborted).toEqual(["first"])
      expect(it.finished).toMatchObject([{ state: "abandoned", dispatched: true, charge: { source: "none" } }])
    })
  )

  it.effect("during the admission ends the request as failed", () =>
    Effect.gen(function* () {
      const it = imageRequest()
      it.delays.begin = "1 second"
      const fiber = yield* Effect.fork(it.result)
      yield* TestClock.adjust("500 millis")
      const interrupting = yield* Effect.fork(Fiber.interrupt(fiber))
      yield* TestClock.adjust("500 millis")
      yield* Fiber.join(interrupting)
      expect([it.begun.length, it.attempted]).toEqual([1, []])
      expect(it.finished).toMatchObject([{ state: "failed", dispatched: false }])
      expect(it.finished.map(({ state }) => reviewOf(state))).toEqual([undefined])
    })
  )

  const step = FastCheck.integer({ min: 0, max: 8 })
  const anEnding = FastCheck.constantFrom(...Object.values(endings))
  it.effect.prop(
    "at a random time ends an admitted request exactly once",
    {
      times: FastCheck.tuple(step, step, step, step, step),
      disconnectsAfter: FastCheck.integer({ min: 0, max: 40 }),
      first: anEnding,
      second: anEnding
    },
    ({ first, disconnectsAfter, second, times }) =>
      Effect.gen(function* () {
        const it = imageRequest({ attempts: { first: first.attempt, second: second.attempt } })
        const [authenticate = 0, read = 0, begin, attempt, finish] = times.map((seconds) => seconds * 1_000)
        Object.assign(it.delays, { authenticate, read, begin, attempt, finish })
        const fiber = yield* Effect.fork(it.result)
        yield* TestClock.adjust(disconnectsAfter * 1_000)
        const interrupting = yield* Effect.fork(Fiber.interrupt(fiber))
        yield* TestClock.adjust("1 hour")
        const exit = yield* Fiber.join(interrupting)
        if (disconnectsAfter * 1_000 !== authenticate + read) {
          expect(it.begun.length).toBe(disconnectsAfter * 1_000 > authenticate + read ? 1 : 0)
        }
        expect(it.finished.length).toBe(it.begun.length)
        if (it.attempted.length > 0) expect(it.begun.length).toBe(1)
        const [outcome] = it.finished
        if (Exit.isSuccess(exit)) expect(["settled", "unmetered"]).toContain(outcome?.state)
        if (outcome !== undefined && outcome.state !== "settled")
          expect(outcome.charge.charged).toEqual(TokenUsage.none)
        if (outcome?.dispatched === false) expect(outcome.state).toBe("failed")
        if (outcome?.dispatched === true) expect(it.attempted.length).toBeGreaterThan(0)
      }),
    { fastCheck: { numRuns: 60 } }
  )
})

describe("an image request with an expired lease", () => {
  it.effect("fails with UpstreamFailed", () =>
    Effect.gen(function* () {
      expect(yield* outcomeOfRequest(imageRequest({ leaseLost: true }))).toBe("UpstreamFailed")
    })
  )
})
