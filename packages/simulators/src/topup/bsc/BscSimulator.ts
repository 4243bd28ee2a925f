/**
 * Simulates payments in USDT and USDC on BNB Smart Chain. The JSON-RPC protocol of a chain has no orders, and this
 * simulator accepts no signed transactions, so it adds two paths. `POST /bsc/orders` registers an order with its
 * deposit address. `POST /bsc/transfers` sends any amount of USDT or USDC to an address.
 */
import { createHash } from "node:crypto"
import { HDKey } from "@scure/bip32"
import { asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { type SimulatedPayment, toJson } from "../payment/SimulatedPayment.ts"
import type { SimulatedPayments } from "../payment/SimulatedPayments.ts"
import {
  json,
  readObject,
  type SimulatedProvider,
  type SimulatedProviderDescriptor,
  type WireResponse
} from "../payment/SimulatedProvider.ts"
import { BSC_TOKEN_DECIMALS, BSC_TOKENS, respondRpc } from "./BscRpc.ts"
import { registeringOrders } from "./OrderRegistration.ts"
import { SimulatedChain } from "./SimulatedChain.ts"

const NAME = "bsc"

export const bscSimulator: SimulatedProviderDescriptor = {
  name: NAME,
  simulate: (payments) => simulate(payments),
  environment: ({ deployment, simulatorUrl }) => ({
    BSC_RPC_URLS: `${simulatorUrl}/${NAME}`,
    BSC_XPUB: throwAwayXpub(deployment)
  }),
  wrap: registeringOrders
}

/** Derives the extended public key of a wallet whose seed is public. Real money must never be sent to its addresses. */
const throwAwayXpub = (deployment: string): string => {
  const seed = createHash("sha512").update(`SIMULATOR NOT REAL ${deployment}`).digest()
  return HDKey.fromMasterSeed(seed).derive("m/44'/60'/0'/0").publicExtendedKey
}

const simulate = (payments: SimulatedPayments): SimulatedProvider => {
  const chain = new SimulatedChain()
  const at = (address: string, now: number) =>
    payments.named(address, now, NAME).find(({ reference }) => reference === address.toLowerCase())

  /**
   * Adds a payment for an address when the balance of the address is first read. The control page lists this payment.
   */
  const onBalance = (contract: string, address: string, now: number): void => {
    if (at(address, now) === undefined) payments.put(paymentTo({ address, contract, now }))
  }

  const register = (requestBody: JsonObject, now: number): WireResponse => {
    const orderNumber = asText(requestBody.order_number)
    const address = asText(requestBody.deposit_address)
    const contract = asText(requestBody.contract_address).toLowerCase()
    const expected = digits(requestBody.expected_raw)
    if (orderNumber === "" || !ADDRESS.test(address) || BSC_TOKENS[contract] === undefined || expected === undefined)
      return refusal(
        422,
        "required: order_number, deposit_address (0x and 40 hexadecimal digits), contract_address (that of USDT or USDC), expected_raw (a positive integer in a string, in the smallest unit)"
      )
    const known = at(address, now)
    const isKnown = known?.orderNumber === orderNumber && known.due === expected && contractOf(known) === contract
    if (isKnown) return json(200, toJson(known))
    // Tokens that the address already has are not part of the payment, because an address can be registered for several
    // orders, one after the other. The adapter computes the received amount in the same way.
    const before = chain.balanceOf(contract, address)
    const payment = {
      ...paymentTo({ address, contract, now, before }),
      orderNumber,
      due: expected,
      impossible: ON_CHAIN
    }
    payments.put(payment)
    return json(201, toJson(payment))
  }

  const transfer = (requestBody: JsonObject, now: number): WireResponse => {
    const address = asText(requestBody.deposit_address)
    const contract = asText(requestBody.contract_address).toLowerCase()
    const raw = digits(requestBody.raw)
    if (!ADDRESS.test(address) || BSC_TOKENS[contract] === undefined || raw === undefined)
      return refusal(
        422,
        "required: deposit_address (0x and 40 hexadecimal digits), contract_address (that of USDT or USDC), raw (a positive integer in a string, in the smallest unit)"
      )
    chain.transfer(contract, address, raw, now)
    const known = at(address, now) ?? paymentTo({ address, contract, now })
    const received = chain.balanceOf(contractOf(known), address) - beforeOf(known)
    const payment: SimulatedPayment =
      known.due !== undefined && received >= known.due && known.state !== "paid"
        ? { ...known, received, state: "paid", changedAt: now }
        : { ...known, received }
    payments.put(payment)
    return json(200, { ...toJson(payment), final_at: new Date(chain.finalAt(address, now)).toISOString() })
  }

  return {
    name: NAME,
    respond: ({ body, method, now, path }) => {
      if (path !== "" && path !== "/") return refusal(404, "the path of JSON-RPC is /bsc")
      if (method !== "POST") return refusal(405, "JSON-RPC requires the method POST")
      return respondRpc({ chain, onBalance }, body, now)
    },
    controls: {
      paths: ["/orders", "/transfers"],
      post: (request) => {
        const requestBody = readObject(request)
        if (requestBody === undefined) return refusal(400, "the body is not a JSON object")
        return request.path === "/orders" ? register(requestBody, request.now) : transfer(requestBody, request.now)
      }
    },
    carryOut: (before, after, now) => {
      const raw = after.received - before.received
      if (raw > 0n) chain.transfer(contractOf(after), after.reference, raw, now)
      return chain.finalAt(after.reference, now)
    },
    webhook: () => undefined
  }
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/

const digits = (value: unknown): bigint | undefined =>
  typeof value === "string" && /^[1-9]\d{0,77}$/.test(value) ? BigInt(value) : undefined

const refusal = (status: number, message: string): WireResponse =>
  json(status, { error: { code: "bad_request", message: `payment simulator: ${message}` } })

const contractOf = (payment: SimulatedPayment): string => asText(payment.requestBody.contract_address)

const beforeOf = (payment: SimulatedPayment): bigint => BigInt(asText(payment.requestBody.before))

const paymentTo = (to: {
  readonly address: string
  readonly contract: string
  readonly now: number
  /** The balance of the address when its order was registered. */
  readonly before?: bigint
}): SimulatedPayment => ({
  provider: NAME,
  method: "crypto_bep20",
  reference: to.address.toLowerCase(),
  orderNumber: undefined,
  payTo: to.address,
  shownAt: undefined,
  currency: BSC_TOKENS[to.contract] ?? "",
  decimals: BSC_TOKEN_DECIMALS,
  due: undefined,
  received: 0n,
  state: "open",
  openedAt: to.now,
  changedAt: to.now,
  expiresAt: undefined,
  webhookUrl: undefined,
  requestBody: { contract_address: to.contract, before: `${to.before ?? 0n}` },
  impossible: { ...ON_CHAIN, pay: NO_AMOUNT, underpay: NO_AMOUNT, overpay: NO_AMOUNT }
})

/** The actions that are impossible for every payment on a chain, with the reasons. */
const ON_CHAIN: SimulatedPayment["impossible"] = {
  expire: "a deposit address does not expire; the gateway expires the order",
  fail: "a payment on the simulated chain does not fail, because every transfer succeeds"
}

/** The reason why an address without an order cannot be paid by an action of the control page. */
const NO_AMOUNT =
  "this address has no registered order: register one with POST /bsc/orders, or send tokens with POST /bsc/transfers"
