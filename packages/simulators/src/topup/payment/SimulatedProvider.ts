/**
 * Declares the interface of a simulated payment provider. A simulated provider responds to API requests and builds
 * webhooks as the real provider does. Each provider folder exports one descriptor; SimulatedProviders lists the
 * descriptors.
 */
import type { IncomingHttpHeaders } from "node:http"
import type { SimulatedCounterpart } from "@tollgate/adapters-upstream/topup/PaymentSimulation"
import { asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import type * as Either from "effect/Either"
import type { SimulatedPayment } from "./SimulatedPayment.ts"
import type { SimulatedPayments } from "./SimulatedPayments.ts"

export interface WireRequest {
  readonly method: string
  /**
   * The path of the request. In a request to a provider, the path does not contain the provider's name, for example
   * `/v2/charge`.
   */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The current time in Unix milliseconds. */
  readonly now: number
  /** The origin of the simulator, for example `http://127.0.0.1:4010`. URLs in responses begin with it. */
  readonly origin: string
}

export interface WireResponse {
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly headers?: { readonly [name: string]: string }
}

/** A signed webhook that can be sent to the gateway. */
export interface SimulatedWebhook {
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

export interface SimulatedProvider {
  readonly name: string
  readonly respond: (request: WireRequest) => WireResponse
  /** The handler of `POST` paths that the real provider does not have. Injected faults do not affect these paths. */
  readonly controls?: {
    readonly paths: ReadonlyArray<string>
    readonly post: (request: WireRequest) => WireResponse
  }
  /**
   * Applies the effects that an action on a payment has elsewhere, such as a transfer on the chain. Returns the time at
   * which the provider's API shows the effect, in Unix milliseconds.
   */
  readonly carryOut: (before: SimulatedPayment, after: SimulatedPayment, now: number) => number
  /**
   * Makes a repeated payment, or returns the reason why it is impossible. Undefined if the provider makes no separate
   * payment for a repeated payment.
   */
  readonly again?: (payment: SimulatedPayment, sent: SentAgain, now: number) => Either.Either<SimulatedPayment, string>
  /** Builds the webhook for the state of a payment; `undefined` for a provider without webhooks. */
  readonly webhook: (payment: SimulatedPayment) => SimulatedWebhook | undefined
}

export interface SimulatedProviderDescriptor extends SimulatedCounterpart {
  readonly simulate: (payments: SimulatedPayments) => SimulatedProvider
}

export interface SentAgain {
  /** The amount as a decimal. Default: the amount that was due. */
  readonly amount: string | undefined
  /**
   * True if the repeated payment gets the status `finished`, false if it gets `partially_paid`. At the real provider,
   * the settings of the account decide this, not the amount.
   */
  readonly finished: boolean
}

export const json = (status: number, body: unknown): WireResponse => ({
  status,
  contentType: "application/json",
  body: JSON.stringify(body)
})

export const svg = (body: string): WireResponse => ({ status: 200, contentType: "image/svg+xml", body })

export const html = (body: string): WireResponse => ({ status: 200, contentType: "text/html; charset=utf-8", body })

/** Returns the parsed body if it is a JSON object; otherwise `undefined`. */
export const readObject = ({ body }: { readonly body: string }): JsonObject | undefined => {
  try {
    return asObject(JSON.parse(body))
  } catch {
    return undefined
  }
}

/** Returns the value of a header; `undefined` if the request does not contain the header. */
export const headerOf = ({ headers }: WireRequest, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === "string" ? value : undefined
}
