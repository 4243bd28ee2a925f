import { describe, expect, it } from "@effect/vitest"
import type { ImageAnswer } from "@tollgate/application/images/ImageConnection"
import { IMAGE_TIMEOUT_MILLIS } from "@tollgate/application/images/MakeImage"
import type { FailedAttempt } from "@tollgate/application/inference/RouteAttempts"
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
import { A_KEY, A_USER, PICTURE, pictured, Studio, USED } from "./Studio.ts"

type Answers = Effect.Effect<ImageAnswer<string>, FailedAttempt>

const studio = (parts: Partial<Studio> = {}): Studio => Object.assign(new Studio(), parts)

const fails = (error: FailedAttempt["error"], retryElsewhere = false): Answers => Effect.fail({ error, retryElsewhere })

/** Refused before anything was sent. */
const unasked = (error: FailedAttempt["error"], retryElsewhere = false): Answers =>
  Effect.fail({ error, retryElsewhere, unsent: true })

const nowhere = new UpstreamFailed({ cause: "a test" })
const full = new Overloaded({ retryAfterSeconds: 1 })
const open = new CircuitOpen({ retryAfterSeconds: 9 })
const limited = new TechnicalLimit({ retryAfterSeconds: 3 })

/** By the tag of what the client is told, or `interrupted`, or `died`. */
const toldBy = <A, E extends { readonly _tag: string }>(exit: Exit.Exit<A, E>): string =>
  Exit.match(exit, {
    onSuccess: () => "a picture",
    onFailure: (cause) =>
      Option.match(Cause.failureOption(cause), {
        onSome: ({ _tag }) => _tag,
        onNone: () => (Cause.isInterruptedOnly(cause) ? "interrupted" : "died")
      })
  })

const told = ({ made }: Studio) => Effect.map(Effect.exit(made), toldBy)

interface Ending {
  readonly answer: Answers
  readonly told: string
  readonly state: EndState
  readonly dispatched: boolean
}

const endings: Readonly<Record<string, Ending>> = {
  "a picture with usage": { answer: Effect.succeed(pictured), told: "a picture", state: "settled", dispatched: true },
  "a picture without usage": {
    answer: Effect.succeed({ ...pictured, usage: unreported }),
    told: "a picture",
    state: "unmetered",
    dispatched: true
  },
  "a picture that is too large": {
    answer: Effect.succeed({ _tag: "TooLarge" }),
    told: "ImageWithheld",
    state: "withheld",
    dispatched: true
  },
  "a refusal of the prompt": {
    answer: Effect.succeed({ _tag: "Declined", error: new ContentPolicyViolation({ message: "no" }) }),
    told: "ContentPolicyViolation",
    state: "declined",
    dispatched: true
  },
  "an error of the supplier": { answer: fails(nowhere), told: "UpstreamFailed", state: "failed", dispatched: true },
  "a limit of the supplier": { answer: fails(limited), told: "TechnicalLimit", state: "failed", dispatched: true },
  "a rejection of the request": {
    answer: fails(new UpstreamRejected({ message: "no", param: null })),
    told: "UpstreamRejected",
    state: "failed",
    dispatched: true
  },
  "no slot of ours": { answer: unasked(full), told: "Overloaded", state: "failed", dispatched: false },
  "a supplier that is left alone": { answer: unasked(open), told: "CircuitOpen", state: "failed", dispatched: false },
  "a route that is off": { answer: unasked(nowhere), told: "UpstreamFailed", state: "failed", dispatched: false },
  "a fault of ours": { answer: Effect.dieMessage("a bug"), told: "died", state: "failed", dispatched: true },
  "an exchange that ends by itself": {
    answer: Effect.interrupt,
    told: "interrupted",
    state: "abandoned",
    dispatched: true
  }
}

describe("an image request", () => {
  for (const [what, { answer, dispatched, state, told: expected }] of Object.entries(endings)) {
    it.effect(`that comes to ${what} ends ${state}, once`, () =>
      Effect.gen(function* () {
        const it = studio({ answers: { first: answer } })
        expect(yield* told(it)).toBe(expected)
        expect(it.finished).toMatchObject([{ state, dispatched }])
        const [outcome] = it.finished
        expect(outcome?.charge.charged).toEqual(
          state === "settled" ? { ...TokenUsage.none, ...USED.prompt, output: USED.output } : TokenUsage.none
        )
      })
    )
  }

  it.effect("is answered with its picture, how it was billed, and what was used", () =>
    Effect.gen(function* () {
      expect(yield* studio().made).toEqual({ picture: PICTURE, billing: "settled", usage: USED })
      const unmetered = studio({ answers: { first: Effect.succeed({ ...pictured, usage: unreported }) } })
      expect(yield* unmetered.made).toEqual({ picture: PICTURE, billing: "unmetered", usage: unreported })
    })
  )

  it.effect("is checked in this order: key, idempotency key, body, model, account, supplier", () =>
    Effect.gen(function* () {
      const it = studio({ answers: { first: fails(nowhere) } })
      it.begins = Effect.fail(new InsufficientBalance())
      it.request = { model: "nobody's" }
      it.reads = Effect.fail(new UnsupportedParameter({ message: "no", param: "mask" }))
      it.idempotencyKey = Either.left(new InvalidRequest({ message: "no", param: "Idempotency-Key" }))
      it.authenticates = Effect.fail(new InvalidApiKey({ reason: "unknown" }))
      it.presentedKey = Either.left(new InvalidApiKey({ reason: "missing" }))
      expect(yield* told(it)).toBe("InvalidApiKey")
      it.presentedKey = studio().presentedKey
      expect(yield* told(it)).toBe("InvalidApiKey")
      it.authenticates = Effect.void
      expect(yield* told(it)).toBe("InvalidRequest")
      it.idempotencyKey = Either.right(undefined)
      expect(yield* told(it)).toBe("UnsupportedParameter")
      it.reads = Effect.void
      expect(yield* told(it)).toBe("ModelNotFound")
      it.request = {}
      expect(yield* told(it)).toBe("InsufficientBalance")
      expect([it.begun, it.asked, it.finished]).toEqual([[], [], []])
      it.begins = Effect.void
      expect(yield* told(it)).toBe("UpstreamFailed")
    })
  )

  const models = {
    unknown: "ModelNotFound",
    hidden: "ModelNotFound",
    retired: "ModelNotFound",
    writer: "UnsupportedEndpoint",
    editor: "UnsupportedEndpoint",
    homeless: "UnsupportedEndpoint"
  }
  for (const [model, refusal] of Object.entries(models)) {
    it.effect(`of the model ${model} is refused by ${refusal}, before money is touched`, () =>
      Effect.gen(function* () {
        const it = studio({ request: { model } })
        expect(yield* told(it)).toBe(refusal)
        expect([it.begun, it.asked, it.finished]).toEqual([[], [], []])
      })
    )
  }

  it.effect("to edit is for models that edit", () =>
    Effect.gen(function* () {
      const source = { format: "png", widthPx: 1, heightPx: 1, bytes: new Uint8Array(1) } as const
      expect(yield* told(studio({ request: { operation: "edit", model: "painter", source } }))).toBe(
        "UnsupportedEndpoint"
      )
      expect(yield* told(studio({ request: { operation: "edit", model: "editor", source } }))).toBe("a picture")
    })
  )

  const refusals = [
    new IdempotencyKeyReused(),
    new ImageConcurrencyLimit({ retryAfterSeconds: 5 }),
    new InsufficientBalance(),
    new InvalidApiKey({ reason: "unknown" }),
    full
  ]
  for (const refusal of refusals) {
    it.effect(`that may not begin (${refusal._tag}) is sent to nobody and ends nothing`, () =>
      Effect.gen(function* () {
        const it = studio({ begins: Effect.fail(refusal) })
        expect(yield* told(it)).toBe(refusal._tag)
        expect([it.asked, it.finished]).toEqual([[], []])
      })
    )
  }

  it.effect("that was refused while it was read never began", () =>
    Effect.gen(function* () {
      const it = studio({ reads: Effect.fail(new ImageTooLarge({ message: "no" })) })
      expect(yield* told(it)).toBe("ImageTooLarge")
      expect(it.begun).toEqual([])
    })
  )

  it.effect("takes its key, its account and what it may cost with it", () =>
    Effect.gen(function* () {
      const it = studio({ request: { size: { widthPx: 1000, heightPx: 1000 }, quality: "low" } })
      yield* it.made
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
  it.effect("are tried in the order of their priority, another only where that may help", () =>
    Effect.gen(function* () {
      const retryElsewhere = studio({ answers: { first: fails(nowhere, true) } })
      expect(yield* told(retryElsewhere)).toBe("a picture")
      expect(retryElsewhere.asked).toEqual(["first", "second"])
      expect(retryElsewhere.finished).toHaveLength(1)
      const here = studio({ answers: { first: fails(nowhere) } })
      expect(yield* told(here)).toBe("UpstreamFailed")
      expect(here.asked).toEqual(["first"])
    })
  )

  const asked = (error: FailedAttempt["error"]) => ({ error, answer: fails(error, true) })
  const refused = (error: FailedAttempt["error"]) => ({ error, answer: unasked(error, true) })
  const both = [
    { first: asked(nowhere), second: refused(open), expected: "UpstreamFailed", dispatched: true },
    { first: refused(open), second: asked(nowhere), expected: "UpstreamFailed", dispatched: true },
    { first: refused(open), second: refused(full), expected: "Overloaded", dispatched: false },
    { first: refused(full), second: refused(open), expected: "Overloaded", dispatched: false },
    { first: asked(limited), second: refused(full), expected: "TechnicalLimit", dispatched: true },
    { first: refused(nowhere), second: refused(nowhere), expected: "UpstreamFailed", dispatched: false }
  ]
  for (const { dispatched, expected, first, second } of both) {
    const failures = `${first.error._tag}, ${second.error._tag}${dispatched ? "" : ", nobody asked"}`
    it.effect(`that all fail (${failures}) are told by the most telling failure: ${expected}`, () =>
      Effect.gen(function* () {
        const it = studio({ answers: { first: first.answer, second: second.answer } })
        expect(yield* told(it)).toBe(expected)
        expect(it.finished).toMatchObject([{ state: "failed", dispatched }])
      })
    )
  }
})

describe("the time of an image request", () => {
  it.effect("is 120 seconds from its acceptance: then the supplier is aborted, and nothing is charged", () =>
    Effect.gen(function* () {
      const it = studio()
      it.takes.read = "100 seconds"
      it.takes.ask = "30 seconds"
      const fiber = yield* Effect.fork(told(it))
      yield* TestClock.adjust("119 seconds")
      expect(it.aborted).toEqual([])
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(fiber)).toBe("ImageTimeout")
      expect(it.aborted).toEqual(["first"])
      expect(it.finished).toMatchObject([{ state: "timeout", dispatched: true, charge: { source: "none" } }])
    })
  )

  it.effect("is over for a body that takes longer, and nothing has begun", () =>
    Effect.gen(function* () {
      const it = studio()
      it.takes.read = "1 hour"
      const fiber = yield* Effect.fork(told(it))
      yield* TestClock.adjust(IMAGE_TIMEOUT_MILLIS)
      expect(yield* Fiber.join(fiber)).toBe("ImageTimeout")
      expect([it.begun, it.finished]).toEqual([[], []])
    })
  )

  it.effect("that is used up before a supplier was asked leaves the key free", () =>
    Effect.gen(function* () {
      const it = studio()
      it.takes.begin = "121 seconds"
      const fiber = yield* Effect.fork(told(it))
      yield* TestClock.adjust("121 seconds")
      expect(yield* Fiber.join(fiber)).toBe("ImageTimeout")
      expect(it.asked).toEqual([])
      expect(it.finished).toMatchObject([{ state: "failed", dispatched: false }])
    })
  )

  it.effect("is enough for a picture that comes in its last millisecond", () =>
    Effect.gen(function* () {
      const it = studio()
      it.takes.ask = IMAGE_TIMEOUT_MILLIS - 1
      const fiber = yield* Effect.fork(told(it))
      yield* TestClock.adjust(IMAGE_TIMEOUT_MILLIS)
      expect(yield* Fiber.join(fiber)).toBe("a picture")
    })
  )
})

describe("a client that leaves", () => {
  it.effect(
    "before its picture is settled is not charged; what the supplier used is recorded, and a person looks",
    () =>
      Effect.gen(function* () {
        const it = studio()
        it.takes.finish = "1 second"
        const fiber = yield* Effect.fork(told(it))
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

  it.effect("while its supplier works has the supplier aborted at once", () =>
    Effect.gen(function* () {
      const it = studio()
      it.takes.ask = "1 minute"
      const fiber = yield* Effect.fork(it.made)
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      expect(it.aborted).toEqual(["first"])
      expect(it.finished).toMatchObject([{ state: "abandoned", dispatched: true, charge: { source: "none" } }])
    })
  )

  it.effect("while it begins has begun nothing for good, and its key is free", () =>
    Effect.gen(function* () {
      const it = studio()
      it.takes.begin = "1 second"
      const fiber = yield* Effect.fork(it.made)
      yield* TestClock.adjust("500 millis")
      const leaving = yield* Effect.fork(Fiber.interrupt(fiber))
      yield* TestClock.adjust("500 millis")
      yield* Fiber.join(leaving)
      expect([it.begun.length, it.asked]).toEqual([1, []])
      expect(it.finished).toMatchObject([{ state: "failed", dispatched: false }])
      expect(it.finished.map(({ state }) => reviewOf(state))).toEqual([undefined])
    })
  )

  const step = FastCheck.integer({ min: 0, max: 8 })
  const answer = FastCheck.constantFrom(...Object.values(endings))
  it.effect.prop(
    "at whatever moment ends what was begun, once, and what was not begun not at all",
    {
      times: FastCheck.tuple(step, step, step, step, step),
      leavesAfter: FastCheck.integer({ min: 0, max: 40 }),
      first: answer,
      second: answer
    },
    ({ first, leavesAfter, second, times }) =>
      Effect.gen(function* () {
        const it = studio({ answers: { first: first.answer, second: second.answer } })
        const [authenticate = 0, read = 0, begin, ask, finish] = times.map((seconds) => seconds * 1_000)
        Object.assign(it.takes, { authenticate, read, begin, ask, finish })
        const fiber = yield* Effect.fork(it.made)
        yield* TestClock.adjust(leavesAfter * 1_000)
        const leaving = yield* Effect.fork(Fiber.interrupt(fiber))
        yield* TestClock.adjust("1 hour")
        const exit = yield* Fiber.join(leaving)
        if (leavesAfter * 1_000 !== authenticate + read) {
          expect(it.begun.length).toBe(leavesAfter * 1_000 > authenticate + read ? 1 : 0)
        }
        expect(it.finished.length).toBe(it.begun.length)
        if (it.asked.length > 0) expect(it.begun.length).toBe(1)
        const [outcome] = it.finished
        if (Exit.isSuccess(exit)) expect(["settled", "unmetered"]).toContain(outcome?.state)
        if (outcome !== undefined && outcome.state !== "settled")
          expect(outcome.charge.charged).toEqual(TokenUsage.none)
        if (outcome?.dispatched === false) expect(outcome.state).toBe("failed")
        if (outcome?.dispatched === true) expect(it.asked.length).toBeGreaterThan(0)
      }),
    { fastCheck: { numRuns: 60 } }
  )
})

describe("an image request whose lease has passed", () => {
  it.effect("delivers nothing: it was given up, and its account may be making another", () =>
    Effect.gen(function* () {
      expect(yield* told(studio({ leaseLost: true }))).toBe("UpstreamFailed")
    })
  )
})
