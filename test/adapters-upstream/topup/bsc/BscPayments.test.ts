import { randomUUID } from "node:crypto"
import { it } from "@effect/vitest"
import * as BscPayments from "@tollgate/adapters-upstream/topup/bsc/BscPayments"
import type { BscSettings } from "@tollgate/adapters-upstream/topup/bsc/BscSettings"
import type { OpenedPayment, PaymentIntent, PaymentProvider } from "@tollgate/application/topup/PaymentProviders"
import { Idr } from "@tollgate/domain/money/Idr"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import { OrderId, orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { Email } from "@tollgate/domain/validation/Email"
import { Effect, Fiber, Logger, Redacted, TestClock } from "effect"
import { afterAll, describe, expect } from "vitest"
import { ScriptedUpstream, unusedAddress } from "../../../support/ScriptedUpstream.ts"
import { silence } from "../../../support/upstream/Script.ts"
import { type WireNodeFacts, wireNode } from "./FakeNode.ts"
import { TestChain } from "./TestChain.ts"
import { HARDHAT, OURS, walletOf } from "./Wallet.ts"

const wallet = walletOf(OURS)
const KNOWN_XPUB = walletOf(HARDHAT).xpub
const DUE = 25_000_123n
const DUE_RAW = DUE * 10n ** 12n

/** Each order has a separate deposit index and address, as in production. */
let nextIndex = 0
const anIntent = (parts: Partial<PaymentIntent> = {}, kind: TokenKind = "usdt"): PaymentIntent => {
  const orderId = OrderId.make(randomUUID())
  nextIndex += 1
  return {
    orderId,
    orderNumber: orderNumberOf(orderId),
    method: "crypto_bep20",
    due: { _tag: "Dollars", amountUsdMicro: UsdMicro(DUE), tokenKind: kind },
    payer: { name: "A payer", email: Email.make("payer@example.com") },
    depositIndex: nextIndex,
    createdAt: new Date(),
    ...parts
  }
}

const providerOf = (rpcUrls: ReadonlyArray<string>, parts: Partial<BscSettings> = {}) =>
  BscPayments.make({
    rpcUrls: rpcUrls.map((url) => Redacted.make(url)),
    xpub: Redacted.make(wallet.xpub),
    rpcQuorum: 1,
    logRange: 2_000,
    expiryMinutes: 60,
    atSimulator: false,
    ...parts
  })

/** Returns the payment as the database stores it with its order. */
const stored = (opened: OpenedPayment): OpenedPayment => ({
  ...opened,
  state: JSON.parse(JSON.stringify(opened.state))
})

const depositOf = ({ instructions }: OpenedPayment) => {
  if (instructions._tag !== "Bep20") throw new Error(`no deposit: ${instructions._tag}`)
  return instructions
}

const openOn = (provider: PaymentProvider, intent: PaymentIntent = anIntent()) =>
  Effect.map(provider.open(intent), (opened) => ({
    intent,
    opened,
    address: depositOf(opened).depositAddress,
    refreshed: provider.refresh(intent, stored(opened))
  }))

const chainOrReason = await TestChain.start().catch((cause: unknown) => String(cause))
const cannotRun = typeof chainOrReason === "string" ? chainOrReason : undefined
if (cannotRun !== undefined) console.warn(`the tests of payments on BSC are skipped: anvil cannot start (${cannotRun})`)

afterAll(() => (typeof chainOrReason === "string" ? undefined : chainOrReason.stop()))

describe.skipIf(cannotRun !== undefined)("a payment", () => {
  const chain = chainOrReason as TestChain

  const onChain = Effect.promise(() => chain.time()).pipe(
    Effect.flatMap((time) => TestClock.setTime(time.getTime() + 2_000))
  )
  const opened = Effect.gen(function* () {
    yield* onChain
    return yield* openOn(yield* providerOf([chain.url]))
  })
  const pay = (address: string, amountRaw: bigint, kind: TokenKind = "usdt") =>
    Effect.promise(() => chain.pay(kind, address, amountRaw))
  const payFinally = (address: string, amountRaw: bigint, kind: TokenKind = "usdt") =>
    Effect.tap(pay(address, amountRaw, kind), makeFinal)
  const makeFinal = Effect.promise(() => chain.makeFinal())

  it.scoped("has the deposit address of its deposit index", () =>
    Effect.gen(function* () {
      const { intent, opened: payment, refreshed } = yield* opened
      const address = wallet.addressAt(intent.depositIndex ?? -1)
      expect(payment.instructions).toEqual({
        _tag: "Bep20",
        network: "bsc",
        chainId: 56,
        tokenKind: "usdt",
        contractAddress: "0x55d398326f99059fF775485246999027B3197955",
        expectedRaw: 25_000_123_000_000_000_000n,
        depositAddress: address
      })
      expect(payment.providerPaymentId).toBe(`bsc:${address}`)
      expect(payment.expiresAt.getTime() - intent.createdAt.getTime()).toBe(3_600_000)
      expect(payment.state).toEqual({
        depositIndex: intent.depositIndex,
        baselineRaw: "0",
        fromBlock: expect.any(Number)
      })
      expect(yield* refreshed).toEqual({ _tag: "Pending", received: undefined, evidence: undefined })
    })
  )

  it.scoped.each(["usdt", "usdc"] as const)("is paid when the amount due arrives in %s", (kind) =>
    Effect.gen(function* () {
      yield* onChain
      const { address, refreshed } = yield* openOn(yield* providerOf([chain.url]), anIntent({}, kind))
      const transaction = yield* payFinally(address, DUE_RAW, kind)
      yield* onChain
      const paidAt = yield* Effect.promise(() => chain.timeOf(transaction))
      expect(yield* refreshed).toEqual({
        _tag: "Paid",
        paidAt,
        received: { receivedRaw: DUE_RAW, receivedUsdMicro: DUE },
        evidence: { transactions: [transaction], remarks: [] }
      })
    })
  )

  it.scoped("is pending while one smallest unit of the token is missing", () =>
    Effect.gen(function* () {
      const { address, refreshed } = yield* opened
      yield* payFinally(address, DUE_RAW - 1n)
      expect(yield* refreshed).toMatchObject({
        _tag: "Pending",
        received: { receivedRaw: DUE_RAW - 1n, receivedUsdMicro: DUE - 1n }
      })
      yield* payFinally(address, 1n)
      expect(yield* refreshed).toMatchObject({
        _tag: "Paid",
        received: { receivedRaw: DUE_RAW, receivedUsdMicro: DUE }
      })
    })
  )

  it.scoped("can arrive in two transfers", () =>
    Effect.gen(function* () {
      const { address, refreshed } = yield* opened
      const first = yield* payFinally(address, DUE_RAW / 3n)
      expect(yield* refreshed).toMatchObject({ _tag: "Pending", received: { receivedRaw: DUE_RAW / 3n } })
      const second = yield* payFinally(address, DUE_RAW - DUE_RAW / 3n)
      expect(yield* refreshed).toMatchObject({ _tag: "Paid", evidence: { transactions: [first, second] } })
    })
  )

  it.scoped("is paid when more than the amount due arrives", () =>
    Effect.gen(function* () {
      const { address, refreshed } = yield* opened
      yield* payFinally(address, DUE_RAW * 2n + 5n)
      expect(yield* refreshed).toMatchObject({
        _tag: "Paid",
        received: { receivedRaw: DUE_RAW * 2n + 5n, receivedUsdMicro: DUE * 2n }
      })
    })
  )

  it.scoped("is counted after two more blocks", () =>
    Effect.gen(function* () {
      const { address, refreshed } = yield* opened
      yield* pay(address, DUE_RAW)
      expect(yield* refreshed).toMatchObject({ _tag: "Pending", received: undefined })
      yield* makeFinal
      expect(yield* refreshed).toMatchObject({ _tag: "Paid" })
    })
  )

  it.scoped("is not counted if a reorganisation of the chain removes it", () =>
    Effect.gen(function* () {
      const { address, refreshed } = yield* opened
      const reorganise = yield* Effect.promise(() => chain.snapshot())
      yield* pay(address, DUE_RAW)
      expect(yield* refreshed).toMatchObject({ _tag: "Pending", received: undefined })
      yield* Effect.promise(reorganise)
      yield* makeFinal
      expect(yield* refreshed).toMatchObject({ _tag: "Pending", received: undefined })
    })
  )

  it.scoped("in a counterfeit token is not counted", () =>
    Effect.gen(function* () {
      const { address, refreshed } = yield* opened
      const fake = yield* Effect.promise(() => chain.deployFake())
      yield* Effect.promise(() => chain.payIn(fake, address, DUE_RAW))
      yield* makeFinal
      expect(yield* refreshed).toEqual({ _tag: "Pending", received: undefined, evidence: undefined })
    })
  )

  it.scoped("in the other token is not counted", () =>
    Effect.gen(function* () {
      const { address, refreshed } = yield* opened
      yield* payFinally(address, DUE_RAW, "usdc")
      const remark = `${DUE_RAW} usdc (in the smallest unit) at the address are not counted`
      expect(yield* refreshed).toEqual({
        _tag: "Pending",
        received: undefined,
        evidence: { transactions: [], remarks: [remark] }
      })
      yield* payFinally(address, DUE_RAW)
      expect(yield* refreshed).toMatchObject({ _tag: "Paid", received: { receivedRaw: DUE_RAW } })
    })
  )

  it.scoped("does not include an earlier balance of its address", () =>
    Effect.gen(function* () {
      const intent = anIntent()
      yield* payFinally(wallet.addressAt(intent.depositIndex ?? -1), DUE_RAW)
      yield* onChain
      const { address, refreshed, opened: payment } = yield* openOn(yield* providerOf([chain.url]), intent)
      expect(payment.state).toMatchObject({ baselineRaw: `${DUE_RAW}` })
      expect(yield* refreshed).toMatchObject({ _tag: "Pending", received: undefined })
      yield* payFinally(address, DUE_RAW)
      expect(yield* refreshed).toMatchObject({ _tag: "Paid", received: { receivedRaw: DUE_RAW } })
    })
  )

  it.scoped("becomes smaller when the operator transfers tokens away", () =>
    Effect.gen(function* () {
      const { address, refreshed } = yield* opened
      yield* payFinally(address, DUE_RAW - 10n)
      expect(yield* refreshed).toMatchObject({ _tag: "Pending", received: { receivedRaw: DUE_RAW - 10n } })
      yield* Effect.promise(() => chain.sweep("usdt", address, DUE_RAW - 20n))
      yield* makeFinal
      expect(yield* refreshed).toMatchObject({ _tag: "Pending", received: { receivedRaw: 10n } })
      yield* Effect.promise(() => chain.sweep("usdt", address, 10n))
      yield* makeFinal
      expect(yield* refreshed).toMatchObject({ _tag: "Pending", received: undefined })
    })
  )

  it.scoped("is read from the second node when the first node is down", () =>
    Effect.gen(function* () {
      yield* onChain
      const dead = yield* Effect.promise(() => unusedAddress())
      const provider = yield* providerOf([dead, chain.url])
      yield* provider.probe
      const { address, refreshed } = yield* openOn(provider)
      yield* payFinally(address, DUE_RAW)
      expect(yield* refreshed).toMatchObject({ _tag: "Paid" })
    })
  )

  it.scoped("is read from the second node when the first node hangs", () =>
    Effect.gen(function* () {
      const { address, intent, opened: payment } = yield* opened
      yield* payFinally(address, DUE_RAW)
      const hanging = yield* ScriptedUpstream.scoped()
      hanging.always(silence)
      const provider = yield* providerOf([hanging.baseUrl, chain.url])
      const refreshing = yield* Effect.fork(provider.refresh(intent, stored(payment)))
      yield* Effect.promise(() => hanging.received())
      yield* TestClock.adjust("3 seconds")
      expect(yield* Fiber.join(refreshing)).toMatchObject({ _tag: "Paid" })
    })
  )

  it.scoped("fails to refresh when both nodes time out", () =>
    Effect.gen(function* () {
      const { intent, opened: payment } = yield* opened
      const [one, other] = [yield* ScriptedUpstream.scoped(), yield* ScriptedUpstream.scoped()]
      for (const hanging of [one, other]) hanging.always(silence)
      const provider = yield* providerOf([one.baseUrl, other.baseUrl])
      const refreshing = yield* Effect.fork(Effect.flip(provider.refresh(intent, stored(payment))))
      yield* Effect.promise(() => one.received())
      yield* TestClock.adjust("3 seconds")
      yield* Effect.promise(() => other.received())
      yield* TestClock.adjust("3 seconds")
      expect(yield* Fiber.join(refreshing)).toMatchObject({ kind: "timeout", ambiguous: false })
    })
  )

  it.scoped("fails to open after 7 seconds when all nodes hang", () =>
    Effect.gen(function* () {
      yield* onChain
      const nodes = yield* Effect.all([ScriptedUpstream.scoped(), ScriptedUpstream.scoped(), ScriptedUpstream.scoped()])
      for (const hanging of nodes) hanging.always(silence)
      const provider = yield* providerOf(nodes.map(({ baseUrl }) => baseUrl))
      const opening = yield* Effect.fork(Effect.flip(provider.open(anIntent())))
      // Each node has a timeout of 3 seconds.
      for (const [i, seconds] of [3, 3, 1].entries()) {
        yield* Effect.promise(async () => nodes[i]?.received())
        yield* TestClock.adjust(`${seconds} seconds`)
      }
      const timedOut = { kind: "timeout", detail: "too few nodes responded in time" }
      expect(yield* Fiber.join(opening)).toMatchObject(timedOut)
    })
  )

  it.scoped("cannot be opened while no node listens", () =>
    Effect.gen(function* () {
      const { intent, opened: payment } = yield* opened
      const dead = [yield* Effect.promise(() => unusedAddress()), yield* Effect.promise(() => unusedAddress())]
      const provider = yield* providerOf(dead)
      const unavailable = { _tag: "ProviderUnavailable", provider: "bsc", kind: "network", ambiguous: false }
      expect(yield* Effect.flip(provider.open(anIntent()))).toMatchObject(unavailable)
      expect(yield* Effect.flip(provider.refresh(intent, stored(payment)))).toMatchObject(unavailable)
      expect(yield* Effect.flip(provider.probe)).toMatchObject(unavailable)
    })
  )

  it.scoped("is not refreshed from a node with an old block", () =>
    Effect.gen(function* () {
      const { address, refreshed } = yield* opened
      yield* payFinally(address, DUE_RAW)
      yield* TestClock.adjust("2 minutes")
      expect(yield* Effect.flip(refreshed)).toMatchObject({
        kind: "bad_response",
        detail: expect.stringMatching(/s old/)
      })
      yield* onChain
      expect(yield* refreshed).toMatchObject({ _tag: "Paid" })
    })
  )

  it.scoped("is not opened on another chain", () =>
    Effect.gen(function* () {
      yield* onChain
      yield* Effect.acquireRelease(
        Effect.promise(() => chain.setChainId(97)),
        () => Effect.promise(() => chain.setChainId(56))
      )
      const provider = yield* providerOf([chain.url])
      const refused = { kind: "not_configured", detail: "node 1 of 1: serves chain 97, not 56" }
      expect(yield* Effect.flip(provider.probe)).toMatchObject(refused)
      expect(yield* Effect.flip(provider.open(anIntent()))).toMatchObject(refused)
    })
  )

  it.scoped.each(["usdt", "usdc"] as const)(
    "is not opened if the contract of %s has another number of decimals",
    (kind) =>
      Effect.gen(function* () {
        yield* Effect.acquireRelease(
          Effect.promise(() => chain.giveSixDecimals(kind)),
          () => Effect.promise(() => chain.restoreTokens())
        )
        yield* onChain
        const provider = yield* providerOf([chain.url])
        const refused = { kind: "not_configured", detail: `node 1 of 1: ${kind} has 6 decimals on this node, not 18` }
        expect(yield* Effect.flip(provider.probe)).toMatchObject(refused)
        expect(yield* Effect.flip(provider.open(anIntent()))).toMatchObject(refused)
      })
  )

  const aFalseNode = (facts: Partial<WireNodeFacts>) =>
    Effect.gen(function* () {
      const node = yield* ScriptedUpstream.scoped()
      const time = yield* Effect.promise(() => chain.time())
      node.always(wireNode({ chainId: 56, decimals: 18n, balance: 0n, time, ...facts }))
      return node.baseUrl
    })

  it.scoped("is not counted if only one of two nodes reports it", () =>
    Effect.gen(function* () {
      const { address, intent, opened: payment } = yield* opened
      yield* payFinally(address, 7n)
      const falseNode = yield* aFalseNode({ balance: DUE_RAW })
      const alone = yield* providerOf([falseNode, chain.url])
      expect(yield* alone.refresh(intent, stored(payment))).toMatchObject({ _tag: "Paid" })
      const careful = yield* providerOf([falseNode, chain.url], { rpcQuorum: 2 })
      expect(yield* Effect.flip(careful.refresh(intent, stored(payment)))).toMatchObject({
        kind: "bad_response",
        detail: "the nodes disagree on whether the order is paid"
      })
      yield* payFinally(address, DUE_RAW)
      expect(yield* careful.refresh(intent, stored(payment))).toMatchObject({ _tag: "Paid" })
    })
  )

  it.scoped("is refreshed only if a quorum of nodes responds", () =>
    Effect.gen(function* () {
      const { address, intent, opened: payment } = yield* opened
      yield* payFinally(address, DUE_RAW)
      const dead = yield* Effect.promise(() => unusedAddress())
      const tooFew = yield* providerOf([dead, chain.url], { rpcQuorum: 2 })
      expect(yield* Effect.flip(tooFew.refresh(intent, stored(payment)))).toMatchObject({ kind: "network" })
      expect(yield* Effect.flip(tooFew.probe)).toMatchObject({ kind: "network" })
      const enough = yield* providerOf([chain.url, dead, `${chain.url}/`, `${chain.url}/?again`], { rpcQuorum: 2 })
      expect(yield* enough.refresh(intent, stored(payment))).toMatchObject({ _tag: "Paid" })
    })
  )

  const searchOn = (urls: ReadonlyArray<string>, index: number, rpcQuorum = 1) =>
    Effect.flatMap(
      providerOf(urls, { rpcQuorum }),
      ({ deposits }) => deposits?.({ first: index, last: index }) ?? Effect.dieMessage("no search for deposits")
    )

  it.scoped("is found by the search for deposits if another node is behind the chain", () =>
    Effect.gen(function* () {
      yield* onChain
      const time = yield* Effect.promise(() => chain.time())
      const behind = yield* aFalseNode({ time: new Date(time.getTime() - 3_600_000) })
      const index = anIntent().depositIndex ?? 0
      yield* payFinally(wallet.addressAt(index), DUE_RAW)
      const found = [{ index, tokenKind: "usdt", receivedRaw: DUE_RAW }]
      expect(yield* searchOn([behind, chain.url], index)).toMatchObject(found)
      expect(yield* Effect.flip(searchOn([behind], index))).toMatchObject({ kind: "bad_response" })
    })
  )

  it.scoped("is not found by the search for deposits if only one of two nodes reports it", () =>
    Effect.gen(function* () {
      yield* onChain
      const falseNode = yield* aFalseNode({ balance: DUE_RAW })
      const index = anIntent().depositIndex ?? 0
      const found = yield* Effect.either(searchOn([falseNode, chain.url], index, 2))
      expect(found).toMatchObject({ _tag: "Left", left: { kind: "bad_response" } })
    })
  )

  it.scoped("is not opened if the nodes disagree on its balance", () =>
    Effect.gen(function* () {
      yield* onChain
      const falseNode = yield* aFalseNode({ balance: 5n })
      const provider = yield* providerOf([chain.url, falseNode], { rpcQuorum: 2 })
      expect(yield* Effect.flip(provider.open(anIntent()))).toMatchObject({ kind: "bad_response" })
    })
  )

  it.scoped("fails to refresh if a node reports more tokens than exist", () =>
    Effect.gen(function* () {
      const { intent, opened: payment } = yield* opened
      const provider = yield* providerOf([yield* aFalseNode({ balance: 2n ** 255n })])
      expect(yield* Effect.flip(provider.refresh(intent, stored(payment)))).toMatchObject({ kind: "bad_response" })
    })
  )

  it.scoped("is paid without reported transactions if no node serves logs", () =>
    Effect.gen(function* () {
      const { intent, opened: payment } = yield* opened
      const provider = yield* providerOf([yield* aFalseNode({ balance: DUE_RAW })])
      expect(yield* provider.refresh(intent, stored(payment))).toEqual({
        _tag: "Paid",
        paidAt: undefined,
        received: { receivedRaw: DUE_RAW, receivedUsdMicro: DUE },
        evidence: undefined
      })
    })
  )

  it.scoped("is refreshed without the extended public key", () =>
    Effect.gen(function* () {
      const { address, intent, opened: payment } = yield* opened
      yield* payFinally(address, DUE_RAW)
      const provider = yield* providerOf([chain.url], { xpub: Redacted.make("") })
      expect(yield* Effect.flip(provider.open(anIntent()))).toMatchObject({ kind: "not_configured" })
      expect(yield* provider.refresh(intent, stored(payment))).toMatchObject({ _tag: "Paid" })
    })
  )

  it.scoped("has a provider whose probe logs the first deposit address", () => {
    const logged: Array<string> = []
    const collect = Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ message }) => logged.push(JSON.stringify(message)))
    )
    return Effect.gen(function* () {
      yield* onChain
      yield* (yield* providerOf([chain.url])).probe
      expect(logged.join()).toContain(wallet.addressAt(0))
      expect(logged.join()).not.toContain(wallet.xpub)
    }).pipe(Effect.provide(collect))
  })
})

interface Refusal {
  readonly given: string
  readonly urls?: ReadonlyArray<string>
  readonly parts?: Partial<BscSettings>
  readonly reason: RegExp
}

describe("the provider of BSC payments", () => {
  const nowhere = ["http://127.0.0.1:1"]

  it.scoped("has the label of a simulator for simulated nodes", () =>
    Effect.gen(function* () {
      const real = yield* providerOf(nowhere)
      const simulator = yield* providerOf(nowhere, { atSimulator: true })
      expect([real.label, real.simulated]).toEqual(["bsc", false])
      expect([simulator.label, simulator.simulated]).toEqual(["bsc-simulator", true])
    })
  )

  const twice = ["http://bsc.test/key-of-ours", "http://bsc.test:80/key-of-ours#again"]
  it.scoped.each<Refusal>([
    { given: "an empty list of nodes", urls: [], reason: /no JSON-RPC URL/ },
    { given: "a node without a valid URL", urls: ["bsc.test/key-of-ours"], reason: /not an http or https URL/ },
    {
      given: "a node URL with another protocol",
      urls: ["wss://bsc.test/key-of-ours"],
      reason: /not an http or https URL/
    },
    { given: "one node twice for a quorum of two", urls: twice, parts: { rpcQuorum: 2 }, reason: /quorum of 2.* 1 / },
    { given: "a quorum of zero", parts: { rpcQuorum: 0 }, reason: /quorum of 0/ },
    { given: "a log range of zero", parts: { logRange: 0 }, reason: /log range/ },
    { given: "a private key", parts: { xpub: Redacted.make(wallet.xprv) }, reason: /private key/ },
    { given: "a publicly known key", parts: { xpub: Redacted.make(KNOWN_XPUB) }, reason: /words are public/ }
  ])("opens no payment with $given", ({ urls = nowhere, parts, reason }) =>
    Effect.gen(function* () {
      const provider = yield* providerOf(urls, parts)
      const refused = { _tag: "ProviderUnavailable", kind: "not_configured", detail: expect.stringMatching(reason) }
      const failure = yield* Effect.flip(provider.probe)
      expect(failure).toMatchObject(refused)
      expect(yield* Effect.flip(provider.open(anIntent()))).toMatchObject(refused)
      for (const secret of [wallet.xprv, wallet.xpub, "key-of-ours"]) expect(failure.detail).not.toContain(secret)
    })
  )

  it.scoped("opens no payment for an invalid deposit index or amount", () =>
    Effect.gen(function* () {
      const provider = yield* providerOf(nowhere)
      const open = (parts: Partial<PaymentIntent>) => Effect.flip(provider.open(anIntent(parts)))
      const free = { _tag: "Dollars", amountUsdMicro: UsdMicro(0n), tokenKind: "usdt" } as const
      expect(yield* open({ depositIndex: undefined })).toMatchObject({ kind: "rejected" })
      expect(yield* open({ depositIndex: 2 ** 31 })).toMatchObject({ kind: "not_configured" })
      expect(yield* open({ due: { _tag: "Rupiah", totalIdr: Idr(10_000n) } })).toMatchObject({ kind: "rejected" })
      expect(yield* open({ due: free })).toMatchObject({ _tag: "AmountRejected" })
    })
  )

  it.scoped("refuses to refresh a payment of another provider", () =>
    Effect.gen(function* () {
      const provider = yield* providerOf(nowhere)
      const foreign: OpenedPayment = {
        providerPaymentId: "T0001",
        instructions: { _tag: "Qris", qrContent: "000201", qrImageUrl: undefined },
        expiresAt: new Date(),
        state: {}
      }
      expect(yield* Effect.flip(provider.refresh(anIntent(), foreign))).toMatchObject({ kind: "rejected" })
    })
  )
})
