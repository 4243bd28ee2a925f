/**
 * Handles the requests that control the simulator: actions on payments, faults, and lists. After an action or a change
 * of the faults, a browser gets a redirect to the control page, and a program gets JSON.
 */
import { asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { controlPage } from "./ControlPage.ts"
import { ACTIONS, type Action, act, isAction, type SimulatedPayment, toJson } from "./payment/SimulatedPayment.ts"
import type { SimulatedPayments } from "./payment/SimulatedPayments.ts"
import {
  html,
  json,
  readObject,
  type SimulatedProvider,
  type WireRequest,
  type WireResponse
} from "./payment/SimulatedProvider.ts"
import type { Deliver, Delivered } from "./WebhookDelivery.ts"
import { FAULT_MODES, type WireFault } from "./WireFault.ts"

export interface PaymentControlsOptions {
  readonly payments: SimulatedPayments
  readonly providers: ReadonlyArray<SimulatedProvider>
  readonly fault: WireFault
  readonly deliver: Deliver
  /**
   * The base URL of the gateway, for example `http://127.0.0.1:8080`. The webhooks of payments without a webhook URL
   * are sent to the path `/webhooks/payments/{provider}` of this URL.
   */
  readonly webhookBase: string | undefined
}

const MAX_LINES = 8

export class PaymentControls {
  readonly #options: PaymentControlsOptions
  /** Descriptions of the last actions and changes of the fault, newest first. */
  #done: ReadonlyArray<string> = []

  constructor(options: PaymentControlsOptions) {
    this.#options = options
  }

  respond(request: WireRequest): Effect.Effect<WireResponse> {
    const { method, path } = request
    const [, verb, name] = /^\/([a-z]+)\/([^/]+)$/.exec(path) ?? []
    if (method === "POST" && isAction(verb)) return this.#act(verb, decoded(name), request)
    if (method === "POST" && verb === "again") return this.#again(decoded(name), request)
    if (method === "POST" && path === "/fault") return Effect.sync(() => this.#setFault(request))
    return Effect.sync(() => (method === "GET" ? this.#look(request) : notFound(path, this.#options.providers)))
  }

  #look({ now, origin, path }: WireRequest): WireResponse {
    const { fault, payments, providers } = this.#options
    switch (path) {
      case "/": {
        const shown = { origin, payments: payments.newestFirst(now), fault: fault.now(), done: this.#done }
        return html(controlPage({ ...shown, providers: providers.map(({ name }) => name) }))
      }
      case "/payments":
        return json(200, { simulated: true, payments: payments.newestFirst(now).map(toJson) })
      case "/fault":
        return json(200, fault.now())
      default:
        return notFound(path, this.#options.providers)
    }
  }

  #setFault(request: WireRequest): WireResponse {
    const { fault, providers } = this.#options
    const names = providers.map(({ name }) => name)
    const requestBody = isForm(request) ? Object.fromEntries(new URLSearchParams(request.body)) : readObject(request)
    if (!fault.set(asObject(requestBody)?.mode, asObject(requestBody)?.provider, names)) {
      const wanted = `mode must be one of ${FAULT_MODES.join(", ")}; provider is optional: one of all, ${names.join(", ")}`
      return error(422, "unknown_fault", wanted)
    }
    const { mode, provider } = fault.now()
    this.#note(request.now, `fault for ${provider}: ${mode}`)
    return isForm(request) ? backToThePage : json(200, fault.now())
  }

  /**
   * Applies an action. Responds after the provider's API shows the effect and the webhook, if there is one, was sent.
   */
  #act(action: Action, name: string, request: WireRequest): Effect.Effect<WireResponse> {
    const { now } = request
    const chosen = chooseFor(action, this.#options.payments.named(name, now))
    const outcome = Either.all(
      chosen.map((before) => Either.map(act(before, action, now), (after) => ({ before, after })))
    )
    const [first] = chosen
    if (first === undefined) return Effect.succeed(unknownOrder(name))
    return Either.match(outcome, {
      onLeft: (reason) => Effect.sync(() => this.#refuse(action, name, reason, request)),
      onRight: (changes) => this.#carryOut(action, name, changes, request)
    })
  }

  /** Sends a repeated payment to an address of an order. */
  #again(name: string, request: WireRequest): Effect.Effect<WireResponse> {
    const { now } = request
    const { payments, providers } = this.#options
    const [payment] = chooseFor("pay", payments.named(name, now))
    if (payment === undefined) return Effect.succeed(unknownOrder(name))
    const requestBody = readObject(request)
    const sent = {
      amount: asText(requestBody?.amount) || undefined,
      finished: requestBody?.status !== "partially_paid"
    }
    const repeat = providers.find(({ name }) => name === payment.provider)?.again?.(payment, sent, now)
    return Either.match(repeat ?? Either.left(`${payment.provider} does not support repeated payments`), {
      onLeft: (reason) => Effect.sync(() => this.#refuse("again", name, reason, request)),
      onRight: (after) => this.#carryOut("again", name, [{ before: payment, after }], request)
    })
  }

  #refuse(action: Action | "again", name: string, reason: string, request: WireRequest): WireResponse {
    this.#note(request.now, `${action} ${name}: not possible, ${reason}`)
    return isForm(request) ? backToThePage : error(409, "not_possible", `${action} ${name}: ${reason}`)
  }

  #carryOut(
    action: Action | "again",
    name: string,
    changes: ReadonlyArray<{ readonly before: SimulatedPayment; readonly after: SimulatedPayment }>,
    request: WireRequest
  ): Effect.Effect<WireResponse> {
    return Effect.gen(this, function* () {
      const { now } = request
      const { payments, providers } = this.#options
      const seenFrom = changes.map(({ after, before }) => {
        payments.put(after)
        return providers.find(({ name }) => name === after.provider)?.carryOut(before, after, now) ?? now
      })
      yield* Effect.sleep(Math.max(0, ...seenFrom.map((each) => each - now)))
      const deliveries = yield* Effect.forEach(changes, ({ after }) => this.#tell(after), { concurrency: "unbounded" })
      const views = changes.map(({ after }, i) => ({ ...toJson(after), webhook: deliveries[i] ?? null }))
      const [view, ...others] = views
      const result: JsonObject = { ...view, ...(others.length === 0 ? {} : { other_coins: others }) }
      this.#note(yield* Clock.currentTimeMillis, `${action} ${name}: ${result.status}${describe(deliveries)}`)
      return isForm(request) ? backToThePage : json(200, result)
    })
  }

  #tell(payment: SimulatedPayment): Effect.Effect<Delivered | undefined> {
    const { deliver, providers, webhookBase } = this.#options
    const webhook = providers.find(({ name }) => name === payment.provider)?.webhook(payment)
    const standard = webhookBase === undefined ? undefined : `${webhookBase}/webhooks/payments/${payment.provider}`
    const url = payment.webhookUrl ?? standard
    return webhook === undefined || url === undefined ? Effect.succeed(undefined) : deliver(url, webhook)
  }

  #note(at: number, line: string): void {
    const time = new Date(at).toISOString().slice(11, 19)
    this.#done = [`${time} ${line}`, ...this.#done].slice(0, MAX_LINES)
  }
}

/**
 * Selects the payments that an action changes, from the payments that the request names. The actions `expire` and
 * `fail` change all of them. Another action changes only the first one that has received money, or else the first one.
 */
const chooseFor = (action: Action, found: ReadonlyArray<SimulatedPayment>): ReadonlyArray<SimulatedPayment> => {
  if (action === "expire" || action === "fail") return found
  const begun = found.find(({ received }) => received > 0n) ?? found[0]
  return begun === undefined ? [] : [begun]
}

const describe = (deliveries: ReadonlyArray<Delivered | undefined>): string =>
  deliveries.map((each) => (each === undefined ? "" : `, webhook response: ${each.status ?? "none"}`)).join("")

const decoded = (name: string | undefined): string => {
  try {
    return decodeURIComponent(name ?? "")
  } catch {
    return ""
  }
}

/**
 * Returns true if the request accepts HTML, as the requests of a browser do. The buttons of the control page send
 * forms; programs send JSON or no body.
 */
const isForm = ({ headers }: WireRequest): boolean => headers.accept?.includes("text/html") === true

const backToThePage: WireResponse = { status: 303, contentType: "text/plain", body: "", headers: { location: "/" } }

const error = (status: number, code: string, message: string): WireResponse =>
  json(status, { error: { code, message: `payment simulator: ${message}` } })

const unknownOrder = (name: string): WireResponse =>
  error(
    404,
    "unknown_order",
    `no payment has the order number, reference or address ${name}. The payment was not opened at this simulator, or the simulator was restarted afterwards; GET /payments lists all payments`
  )

const notFound = (path: string, providers: ReadonlyArray<SimulatedProvider>): WireResponse => {
  const controls = providers.flatMap(({ controls, name }) => (controls?.paths ?? []).map((each) => `/${name}${each}`))
  const posts = ["/fault", ...controls, `/${ACTIONS.join("|/")}|/again/{orderNumber}`].join(", ")
  return error(404, "not_found", `there is no path ${path}; use GET /, /payments or /fault, or POST ${posts}`)
}
