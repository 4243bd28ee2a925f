import { afterEach, describe, expect, it, vi } from "vitest"
import { $waiting } from "../../apps/console/src/state/ReturnPath.ts"
import {
  $session,
  $sessionEnd,
  closeSession,
  endSession,
  openSession,
  renewSession,
  type Session
} from "../../apps/console/src/state/Session.ts"

vi.stubGlobal("sessionStorage", { getItem: () => null, setItem: () => {}, removeItem: () => {}, clear: () => {} })

describe("the password of an account that waits for its review", () => {
  it.each<Session>([
    { kind: "reseller", token: "a.b.c", reseller: { id: "1", email: "a@b.example", name: "Toko" } },
    { kind: "customer", key: "tg_x" },
    { kind: "operator", token: "tgo_x", actor: "ani" }
  ])("is forgotten when the session of a $kind opens", (session) => {
    $waiting.set({ email: "a@b.example", password: "correct horse battery" })
    openSession(session)
    expect($waiting.get()).toBeUndefined()
    closeSession()
  })
})

describe("the end of a session", () => {
  afterEach(() => closeSession())

  it("is reported only if the session expired", () => {
    for (const [reason, reported] of [
      ["expired", "operator"],
      [undefined, undefined]
    ] as const) {
      openSession({ kind: "operator", token: "tgo_x", actor: "ani" })
      closeSession(reason)
      expect([$session.get(), $sessionEnd.get()]).toEqual([undefined, reported])
    }
  })

  it("is not reported if there was no session", () => {
    closeSession("expired")
    expect($sessionEnd.get()).toBeUndefined()
  })

  it("stays reported if the console closes the session twice", () => {
    openSession({ kind: "customer", key: "tg_x" })
    closeSession("expired")
    closeSession("expired")
    expect($sessionEnd.get()).toBe("customer")
  })
})

const session = (token: string): Session => ({ kind: "operator", token, actor: "ani" })

describe("a late response to a request of a session", () => {
  afterEach(() => closeSession())

  it("renews the session, even if it has expired meanwhile", () => {
    const first = session("first")
    openSession(first)
    closeSession("expired")
    renewSession(first, session("renewed"))
    expect($session.get()).toEqual(session("renewed"))
  })

  it("changes nothing after the user has ended the session", () => {
    const first = session("first")
    openSession(first)
    closeSession()
    renewSession(first, session("renewed"))
    expect($session.get()).toBeUndefined()
  })

  it("neither replaces nor ends a session that was opened meanwhile", () => {
    const [first, second] = [session("first"), session("second")]
    openSession(first)
    openSession(second)
    renewSession(first, session("renewed"))
    endSession(first)
    expect($session.get()).toBe(second)
    endSession(second)
    expect($session.get()).toBeUndefined()
  })
})
