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
  /** The path below the provider's prefix: `/v2/charge`. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Unix milliseconds. */
  readonly now: number
  /** Of the simulator, for addresses in responses: `http://127.0.0.1:4010`. */
  readonly origin: string
}

export interface WireResponse {
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly headers?: { readonly [name: string]: string }
}

/** A signed webhook to a merchant, ready to be sent. */
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
  /** Applies an action beyond the payment itself. Returns when its effect is visible on the wire, in Unix milliseconds. */
  readonly carryOut: (before: SimulatedPayment, after: SimulatedPayment, now: number) => number
  /** A repeated deposit, for providers that make it a separate payment; or the reason why it is not possible. */
  readonly again?: (payment: SimulatedPayment, sent: SentAgain, now: number) => Either.Either<SimulatedPayment, string>
  /** The webhook for the state of this payment; undefined for a provider without webhooks. */
  readonly webhook: (payment: SimulatedPayment) => SimulatedWebhook | undefined
}

export interface SimulatedProviderDescriptor extends SimulatedCounterpart {
  readonly simulate: (payments: SimulatedPayments) => SimulatedProvider
}

export interface SentAgain {
  /** A decimal; without it the amount that was due. */
  readonly amount: string | undefined
  /** Otherwise partially paid. The settings of the merchant's account decide, not the amount. */
  readonly finished: boolean
}

export const json = (status: number, body: unknown): WireResponse => ({
  status,
  contentType: "application/json",
  body: JSON.stringify(body)
})

export const svg = (body: string): WireResponse => ({ status: 200, contentType: "image/svg+xml", body })

export const html = (body: string): WireResponse => ({ status: 200, contentType: "text/html; charset=utf-8", body })

/** The body, if it is a JSON object. */
export const readObject = ({ body }: { readonly body: string }): JsonObject | undefined => {
  try {
    return asObject(JSON.parse(body))
  } catch {
    return undefined
  }
}

/** A header that occurs once. */
export const headerOf = ({ headers }: WireRequest, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === "string" ? value : undefined
}
