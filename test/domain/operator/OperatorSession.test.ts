import {
  CODE_LIFETIME_MILLIS,
  decideOpening,
  decideUse,
  expiresAt,
  IDLE_MILLIS,
  InvalidConsoleCode,
  InvalidOperatorSession,
  LIFETIME_MILLIS,
  OperatorName,
  type OperatorSession,
  OperatorSessionId,
  stateOf
} from "@tollgate/domain/operator/OperatorSession"
import { Either, Schema } from "effect"
import { describe, expect, it } from "vitest"

const CREATED = new Date("2026-11-20T09:30:00.000Z")
const later = (from: Date, millis: number) => new Date(from.getTime() + millis)

const waiting: OperatorSession = {
  id: OperatorSessionId.make("019a9f0e-7777-7d1a-9a41-6f1f0d7b2c11"),
  actor: OperatorName.make("ani"),
  createdAt: CREATED,
  openedAt: undefined,
  usedAt: undefined,
  endedAt: undefined
}
const OPENED = later(CREATED, 60_000)
const open: OperatorSession = { ...waiting, openedAt: OPENED, usedAt: OPENED }
const ended: OperatorSession = { ...open, endedAt: OPENED }

const refusedCode = Either.left(new InvalidConsoleCode())
const refusedUse = Either.left(new InvalidOperatorSession())

describe("the code of an operator session", () => {
  it("opens a waiting session until two minutes after its creation", () => {
    expect(CODE_LIFETIME_MILLIS).toBe(2 * 60_000)
    const last = later(CREATED, CODE_LIFETIME_MILLIS - 1)
    expect(decideOpening(waiting, last)).toEqual(Either.right({ ...waiting, openedAt: last, usedAt: last }))
    expect(decideOpening(waiting, later(CREATED, CODE_LIFETIME_MILLIS))).toEqual(refusedCode)
  })

  it("opens no unknown, open or ended session", () => {
    for (const session of [undefined, open, ended, { ...waiting, endedAt: CREATED }]) {
      expect(decideOpening(session, OPENED)).toEqual(refusedCode)
    }
  })
})

describe("an operator session", () => {
  it("is valid until it has been unused for 30 minutes", () => {
    expect(IDLE_MILLIS).toBe(30 * 60_000)
    const last = later(OPENED, IDLE_MILLIS - 1)
    expect(decideUse(open, last)).toEqual(Either.right({ session: { ...open, usedAt: last }, recorded: true }))
    expect(decideUse(open, later(OPENED, IDLE_MILLIS))).toEqual(refusedUse)
  })

  it("expires 8 hours after the redemption", () => {
    expect(LIFETIME_MILLIS).toBe(8 * 3_600_000)
    const used = { ...open, usedAt: later(OPENED, LIFETIME_MILLIS - 1) }
    expect(expiresAt(used)).toEqual(later(OPENED, LIFETIME_MILLIS))
    expect(stateOf(used, later(OPENED, LIFETIME_MILLIS - 1))).toBe("open")
    expect(decideUse(used, later(OPENED, LIFETIME_MILLIS))).toEqual(refusedUse)
  })

  it("records a use at most once a minute", () => {
    expect(decideUse(open, later(OPENED, 59_999))).toEqual(Either.right({ session: open, recorded: false }))
    expect(Either.getOrThrow(decideUse(open, later(OPENED, 60_000))).recorded).toBe(true)
  })

  it("is not valid before the redemption or after its end", () => {
    for (const session of [undefined, waiting, ended]) expect(decideUse(session, OPENED)).toEqual(refusedUse)
  })
})

describe("the name of an operator", () => {
  it.each(["ani", " Ani Wijaya ", "ani@example.com", "uid 1000"])(
    "is read without surrounding spaces from %j",
    (name) => {
      expect(Schema.decodeUnknownSync(OperatorName)(name)).toBe(name.trim())
    }
  )

  it.each(["", " ", "reseller:1", "server", "demo", "a\nb", "\ud800", "x".repeat(101)])("cannot be %j", (name) => {
    expect(Either.isLeft(Schema.decodeUnknownEither(OperatorName)(name))).toBe(true)
  })
})
