/**
 * Mints plans, buys quota and creates API keys until it is stopped. It records every operation that a gateway has
 * acknowledged. A mint or a top-up that fails is repeated with the same operation id, as a careful client does.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { activeMillis } from "./ActiveTime.ts"
import { type Gateways, textIn } from "./Gateways.ts"

const PAUSE_MILLIS = 1_500
const RETRY_MILLIS = 500
/** Longer than the statement timeout of the gateway, so that the gateway responds before the client gives up. */
const TIMEOUT_MILLIS = 45_000
/** The status of a request that got no response. */
const NO_RESPONSE = 0

interface Reply {
  readonly status: number
  readonly body: unknown
}

export class ResellerLoad {
  /** The operation ids of acknowledged mints. */
  readonly mints: Array<string> = []
  /** The ids of orders whose payment instructions the reseller received. */
  readonly orders: Array<string> = []
  /** The ids of orders that a response has shown as credited. */
  readonly credited: Array<string> = []
  /** The secrets of created API keys. */
  readonly secrets: Array<string> = []
  /** Exceptions, and responses that are not a success, 429 or 503. */
  readonly unexpected: Array<string> = []
  refused = 0
  slowestMillis = 0
  readonly #gateways: Gateways
  readonly #loops: ReadonlyArray<Promise<void>>
  #stopping = false
  #calls = 0

  constructor(gateways: Gateways) {
    this.#gateways = gateways
    this.#loops = [this.#repeat(this.#mint), this.#repeat(this.#topUp), this.#repeat(this.#createKey)]
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#loops)
  }

  async #repeat(operation: () => Promise<void>): Promise<void> {
    while (!this.#stopping) {
      await operation().catch((error: unknown) => this.unexpected.push(String(error)))
      await sleep(PAUSE_MILLIS)
    }
  }

  readonly #mint = async (): Promise<void> => {
    const operationId = `mint-${++this.#calls}`
    const { customerEmail, tierId } = this.#gateways.reseller
    const body = { operation_id: operationId, customer_email: customerEmail, plan_tier_id: tierId }
    await this.#callUntilSuccess("POST", "/mint", body)
    this.mints.push(operationId)
  }

  readonly #topUp = async (): Promise<void> => {
    const order = { operation_id: `order-${++this.#calls}`, method: "hosted_qris", amount_idr: 10_000 }
    const id = textIn((await this.#callUntilSuccess("POST", "/topup", order)).body, "id")
    this.orders.push(id)
    const paid = await fetch(`${this.#gateways.paymentsUrl}/pay/RTO-${id}`, { method: "POST" })
    if (!paid.ok) throw new Error(`paying ${id}: ${paid.status} ${await paid.text()}`)
    for (;;) {
      const { body } = await this.#callUntilSuccess("GET", `/topup/${id}`)
      if (textIn(body, "status") === "credited") break
      await sleep(RETRY_MILLIS)
    }
    this.credited.push(id)
  }

  readonly #createKey = async (): Promise<void> => {
    // A key has no operation id, so a request that failed is not repeated.
    const path = `/customers/${this.#gateways.reseller.customerId}/keys`
    const created = await this.#call("POST", path, { name: `key ${++this.#calls}` })
    if (created.status === 201) this.secrets.push(textIn(created.body, "secret"))
  }

  async #callUntilSuccess(method: string, path: string, body?: object): Promise<Reply> {
    for (;;) {
      const reply = await this.#call(method, path, body)
      if (reply.status >= 200 && reply.status < 300) return reply
      await sleep(RETRY_MILLIS)
    }
  }

  async #call(method: string, path: string, body?: object): Promise<Reply> {
    const beganAtMillis = activeMillis()
    const reply = await this.#send(method, path, body)
    this.slowestMillis = Math.max(this.slowestMillis, activeMillis() - beganAtMillis)
    const { status } = reply
    if (status === NO_RESPONSE) this.unexpected.push(`${method} ${path}: no response: ${String(reply.body)}`)
    else if (status === 503) this.refused += 1
    else if (status >= 300 && status !== 429) {
      this.unexpected.push(`${method} ${path}: ${status} ${String(reply.body)}`)
    }
    return reply
  }

  async #send(method: string, path: string, body?: object): Promise<Reply> {
    const { reseller, urls } = this.#gateways
    const url = urls[++this.#calls % urls.length]
    try {
      const response = await fetch(`${url}/api/reseller${path}`, {
        method,
        headers: {
          authorization: `Bearer ${reseller.token}`,
          "content-type": "application/json",
          connection: "close"
        },
        signal: AbortSignal.timeout(TIMEOUT_MILLIS),
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const text = await response.text()
      return { status: response.status, body: response.ok ? JSON.parse(text) : text }
    } catch (error) {
      return { status: NO_RESPONSE, body: String(error) }
    }
  }
}
