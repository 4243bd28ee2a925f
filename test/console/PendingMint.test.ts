import { afterAll, beforeEach, describe, expect, it, vi } from "vitest"
import { $pendingMint, forgetMint, markSent, prepareMint } from "../../apps/console/src/state/PendingMint.ts"
import { closeSession, openSession } from "../../apps/console/src/state/Session.ts"

const stored = new Map<string, string>()

const logIn = (id = "toko") =>
  openSession({ kind: "reseller", token: "t", reseller: { id, email: `${id}@a.example`, name: "Toko" } })

const pending = () => {
  const mint = $pendingMint.get()
  if (mint === undefined) throw new Error("no mint is pending")
  return mint
}

beforeEach(() => {
  vi.stubGlobal("sessionStorage", {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => stored.set(name, value),
    removeItem: (name: string) => stored.delete(name),
    clear: () => stored.clear()
  })
  logIn()
})

afterAll(() => {
  closeSession()
  vi.unstubAllGlobals()
})

describe("a pending mint", () => {
  it("is kept when the response to a discarded mint arrives", () => {
    prepareMint("sari@a.example", "tier")
    const discarded = pending()
    markSent(discarded, true)
    forgetMint(discarded)
    prepareMint("budi@a.example", "tier")
    markSent(pending(), true)
    const later = pending()
    markSent(discarded, false)
    forgetMint(discarded)
    expect(pending()).toEqual(later)
    expect(JSON.parse(stored.get("tollgate.mint toko") ?? "")).toEqual(later)
  })

  it("survives the expiry of the session, but not its end by the user", () => {
    prepareMint("sari@a.example", "tier")
    const mint = pending()
    closeSession("expired")
    expect($pendingMint.get()).toBeUndefined()
    logIn()
    expect(pending()).toEqual(mint)
    closeSession()
    logIn()
    expect($pendingMint.get()).toBeUndefined()
    markSent(mint, true)
    expect(stored.size).toBe(1)
  })

  it("is deleted if its session expired before the response arrived", () => {
    prepareMint("sari@a.example", "tier")
    const mint = pending()
    markSent(mint, true)
    closeSession("expired")
    logIn("warung")
    forgetMint(mint)
    closeSession("expired")
    logIn()
    expect($pendingMint.get()).toBeUndefined()
  })

  it("survives a mint of another reseller in the same tab", () => {
    prepareMint("sari@a.example", "tier")
    markSent(pending(), true)
    const mint = pending()
    closeSession("expired")
    logIn("warung")
    expect($pendingMint.get()).toBeUndefined()
    prepareMint("budi@a.example", "tier")
    forgetMint(pending())
    closeSession("expired")
    logIn()
    expect(pending()).toEqual(mint)
  })
})
