import { it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { describe, expect } from "vitest"
import { listOf, startedSimulator, textOf } from "../../../support/SimulatedPayments.ts"

const USDT = "0x55d398326f99059fF775485246999027B3197955"
const USDC = "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d"
const ADDRESS = "0x90F8bf6A479f320ead074411a4B0e7944Ea8c9C1"
const ORDER = "RTO-7c9e6679-7425-40de-944b-e07fc1f90ae7"
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
const BLOCK = "450 millis"
const padded = (address: string) => `0x${"0".repeat(24)}${address.slice(2).toLowerCase()}`
const balanceCall = (address: string) => `0x70a08231${padded(address).slice(2)}`
const anOrder = {
  order_number: ORDER,
  deposit_address: ADDRESS,
  contract_address: USDT,
  expected_raw: `${25n * 10n ** 18n}`
}

const aNode = Effect.gen(function* () {
  const simulator = yield* startedSimulator()
  const call = (method: string, ...params: ReadonlyArray<unknown>) =>
    Effect.map(simulator.post("/bsc", { jsonrpc: "2.0", id: 7, method, params }), ({ body, status }) => {
      expect(status).toBe(200)
      expect(body).toMatchObject({ jsonrpc: "2.0", id: 7 })
      return body
    })
  const result = (method: string, ...params: ReadonlyArray<unknown>) =>
    Effect.map(call(method, ...params), ({ result }) => result)
  const balance = (tag: string, contract = USDT) =>
    Effect.map(result("eth_call", { to: contract, data: balanceCall(ADDRESS) }, tag), (word) => BigInt(textOf(word)))
  const transfer = (raw: bigint, contract_address = USDT) =>
    simulator.post("/bsc/transfers", { deposit_address: ADDRESS, contract_address, raw: `${raw}` })
  return { simulator, call, result, balance, transfer }
})

describe("the simulated chain", () => {
  it.scoped("has both dollar tokens at their real addresses", () =>
    Effect.gen(function* () {
      const { call, result } = yield* aNode
      expect(yield* result("eth_chainId")).toBe("0x38")
      for (const token of [USDT, USDC])
        expect(BigInt(textOf(yield* result("eth_call", { to: token, data: "0x313ce567" }, "finalized")))).toBe(18n)
      expect(yield* result("eth_call", { to: ADDRESS, data: "0x313ce567" }, "latest")).toBe("0x")
      expect((yield* call("eth_call", { to: USDT, data: "0xdeadbeef" }, "latest")).error?.code).toBe(3)
      expect((yield* call("eth_sendRawTransaction", "0x")).error?.code).toBe(-32601)
    })
  )

  it.scoped("grows with the clock", () =>
    Effect.gen(function* () {
      const { result } = yield* aNode
      yield* TestClock.adjust("450 seconds")
      const head = yield* result("eth_getBlockByNumber", "latest", false)
      expect(head).toMatchObject({ number: "0x3e8", timestamp: "0x1c2" })
      const parent = yield* result("eth_getBlockByNumber", "safe", false)
      expect(parent?.hash).toBe(head?.parentHash)
      expect((yield* result("eth_getBlockByNumber", "finalized", false))?.number).toBe("0x3e6")
      expect(yield* result("eth_getBlockByNumber", "0x3e9", false)).toBeNull()
      yield* TestClock.adjust(BLOCK)
      expect(yield* result("eth_blockNumber")).toBe("0x3e9")
    })
  )

  it.scoped("shows a transfer as final two blocks after the next block", () =>
    Effect.gen(function* () {
      const { balance, simulator, transfer } = yield* aNode
      yield* TestClock.adjust("1 hour")
      yield* transfer(5n)
      expect(yield* balance("latest")).toBe(0n)
      yield* TestClock.adjust(BLOCK)
      expect([yield* balance("latest"), yield* balance("finalized")]).toEqual([5n, 0n])
      yield* TestClock.adjust(BLOCK)
      expect(yield* balance("finalized")).toBe(0n)
      yield* TestClock.adjust(BLOCK)
      expect(yield* balance("finalized")).toBe(5n)
      expect(yield* balance("finalized", USDC)).toBe(0n)
      const refused = yield* simulator.post("/bsc/transfers", {
        deposit_address: ADDRESS,
        contract_address: ADDRESS,
        raw: "1"
      })
      expect(refused.status).toBe(422)
    })
  )

  it.scoped("returns filtered logs of transfers for at most 5,000 blocks", () =>
    Effect.gen(function* () {
      const { call, result, transfer } = yield* aNode
      yield* TestClock.adjust("4500 seconds")
      yield* transfer(7n)
      yield* transfer(9n, USDC)
      yield* TestClock.adjust("10 seconds")
      const topics = [TRANSFER, null, padded(ADDRESS)]
      const logs = listOf(
        yield* result("eth_getLogs", { address: USDT, topics, fromBlock: "0x2700", toBlock: "latest" })
      )
      expect(logs).toMatchObject([{ address: USDT.toLowerCase(), blockNumber: "0x2711", removed: false }])
      expect(logs[0]?.topics).toEqual([TRANSFER, padded(`0x${"0".repeat(40)}`), padded(ADDRESS)])
      expect(BigInt(textOf(logs[0]?.data))).toBe(7n)
      expect(logs[0]?.transactionHash).toMatch(/^0x[0-9a-f]{64}$/)
      const both = { fromBlock: "0x1389", toBlock: "0x2710" }
      expect(yield* result("eth_getLogs", { ...both, topics: [padded(ADDRESS)] })).toEqual([])
      expect((yield* call("eth_getLogs", { ...both, fromBlock: "0x1388" })).error?.message).toContain("5000")
      expect((yield* call("eth_getLogs", { fromBlock: "0x9", toBlock: "0x8" })).error?.code).toBe(-32602)
    })
  )

  it.scoped("responds to batches", () =>
    Effect.gen(function* () {
      const { simulator } = yield* aNode
      const batch = yield* simulator.post("/bsc", [
        { jsonrpc: "2.0", id: 1, method: "eth_chainId" },
        { jsonrpc: "2.0", id: "two", method: "net_version" },
        3
      ])
      expect(batch.body).toEqual([
        { jsonrpc: "2.0", id: 1, result: "0x38" },
        { jsonrpc: "2.0", id: "two", result: "56" },
        { jsonrpc: "2.0", id: null, error: { code: -32600, message: "invalid request" } }
      ])
      expect((yield* simulator.post("/bsc", "{")).body.error?.code).toBe(-32700)
      expect((yield* simulator.get("/bsc")).status).toBe(405)
    })
  )
})

describe("a deposit address", () => {
  const listed = Effect.flatMap(aNode, (node) =>
    Effect.succeed({
      ...node,
      listed: Effect.map(node.simulator.get("/payments"), ({ body }) => body.payments)
    })
  )

  it.scoped("is listed after the first request for its balance", () =>
    Effect.gen(function* () {
      const { balance, listed: payments, simulator, transfer } = yield* listed
      expect(yield* payments).toEqual([])
      yield* balance("finalized", USDC)
      expect(yield* payments).toMatchObject([{ provider: "bsc", order_number: null, due: null, currency: "USDC" }])
      const unknownAmount = yield* simulator.post(`/pay/${ADDRESS}`)
      expect(unknownAmount.status).toBe(409)
      expect(unknownAmount.body.error?.message).toContain("/bsc/orders")
      yield* transfer(10n ** 18n, USDC)
      expect(yield* payments).toMatchObject([{ received: "1", status: "open" }])
    })
  )

  it.scoped("belongs to the order that was registered last", () =>
    Effect.gen(function* () {
      const { balance, listed: payments, simulator, transfer } = yield* listed
      yield* balance("finalized")
      expect((yield* simulator.post("/bsc/orders", anOrder)).status).toBe(201)
      expect((yield* simulator.post("/bsc/orders", anOrder)).status).toBe(200)
      yield* transfer(25n * 10n ** 18n - 1n)
      expect(yield* payments).toMatchObject([{ order_number: ORDER, due: "25", received: "24.999999999999999999" }])
      yield* transfer(1n)
      expect(yield* payments).toMatchObject([{ status: "paid", received: "25" }])
      expect((yield* simulator.post("/bsc/orders", { ...anOrder, order_number: "RTO-next" })).status).toBe(201)
      expect(yield* payments).toMatchObject([{ order_number: "RTO-next", status: "open", received: "0" }])
      for (const wrong of [{ ...anOrder, expected_raw: 5 }, { ...anOrder, contract_address: ADDRESS }, {}])
        expect((yield* simulator.post("/bsc/orders", wrong)).status).toBe(422)
    })
  )

  it.scoped("cannot expire or fail", () =>
    Effect.gen(function* () {
      const { simulator } = yield* aNode
      yield* simulator.post("/bsc/orders", anOrder)
      for (const action of ["expire", "fail"]) expect((yield* simulator.post(`/${action}/${ORDER}`)).status).toBe(409)
    })
  )

  it.scopedLive("can be paid by order number or address", () =>
    Effect.gen(function* () {
      const { balance, simulator } = yield* aNode
      yield* simulator.post("/bsc/orders", anOrder)
      const part = yield* simulator.post(`/underpay/${ORDER}`)
      expect(part.body).toMatchObject({ status: "open", received: "12.5", webhook: null })
      expect(yield* balance("finalized")).toBe(125n * 10n ** 17n)
      // Neither request gets a response before the payment is final.
      const payers = [ADDRESS.toLowerCase(), ORDER].map((name) => simulator.post(`/pay/${name}`))
      const paid = yield* Effect.raceAll(payers)
      expect(paid.body).toMatchObject({ order_number: ORDER, status: "paid", received: "25" })
      expect(yield* balance("finalized")).toBe(25n * 10n ** 18n)
      expect((yield* simulator.post(`/pay/${ORDER}`)).body.received).toBe("25")
    })
  )
})
