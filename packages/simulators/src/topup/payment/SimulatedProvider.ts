/**
 * A payment provider in the simulator: responds on its wire as the real provider does, and builds the webhooks that the
 * real one sends to merchants. Each provider's folder exports one descriptor; SimulatedProviders lists them.
 */
import type { IncomingHttpHeaders } from "node:http"
import type { SimulatedCounterpart } from "@tollgate/adapters-upstream/topup/PaymentSimulation"
import { asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import type * as Either from "effect/Either"
import type { SimulatedPayment } from "./SimulatedPayment.ts"
import type { SimulatedPayments } from "./SimulatedPayments.ts"

export interface WireRequest {
  readonly method: string
  /** What follows the provider's own part of the path: `/v2/charge`. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Unix milliseconds. */
  readonly now: number
  /** Of the simulator, for addresses in answers: `http://127.0.0.1:4010`. */
  readonly origin: string
}

export interface WireResponse {
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly headers?: { readonly [name: string]: string }
}

/** A signed message to a merchant, ready to be posted. */
export interface SimulatedWebhook {
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

export interface SimulatedProvider {
  readonly name: string
  readonly respond: (request: WireRequest) => WireResponse
  /** Paths for `POST` that the real provider does not have. A fault of the wire does not affect them. */
  readonly controls?: {
    readonly paths: ReadonlyArray<string>
    readonly post: (request: WireRequest) => WireResponse
  }
  /**
   * Carries out what an action made of a payment, beyond the payment itself; from when everybody who asks can see it,
   * in Unix milliseconds.
   */
  readonly carryOut: (before: SimulatedPayment, after: SimulatedPayment, now: number) => number
  /**
   * What is sent once more to the address of a payment, where this provider makes a payment of its own of that; or why
   * it cannot be.
   */
  readonly again?: (payment: SimulatedPayment, sent: SentAgain, now: number) => Either.Either<SimulatedPayment, string>
  /** What the merchant of this payment is told, where this provider tells merchants anything. */
  readonly webhook: (payment: SimulatedPayment) => SimulatedWebhook | undefined
}

export interface SimulatedProviderDescriptor extends SimulatedCounterpart {
  readonly simulate: (payments: SimulatedPayments) => SimulatedProvider
}

export interface SentAgain {
  /** A decimal, as it came; as much as was due when it is absent. */
  readonly amount: string | undefined
  /** Or partly paid: which of both is a setting of the merchant's account there, and says nothing of the amount. */
  readonly finished: boolean
}

export const json = (status: number, body: unknown): WireResponse => ({
  status,
  contentType: "application/json",
  body: JSON.stringify(body)
})

export const svg = (body: string): WireResponse => ({ status: 200, contentType: "image/svg+xml", body })

export const html = (body: string): WireResponse => ({ status: 200, contentType: "text/html; charset=utf-8", body })

/** The body where it is a JSON object. */
export const readObject = ({ body }: { readonly body: string }): JsonObject | undefined => {
  try {
    return asObject(JSON.parse(body))
  } catch {
    return undefined
  }
}

/** A header where it came once. */
export const headerOf = ({ headers }: WireRequest, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === "string" ? value : undefined
}
