/**
 * A reseller signs up, is reviewed by an operator, tops up quota, and mints plans to customers.
 *
 *     pending ──approve──▶ active ──suspend──▶ suspended
 *        │                 ▲    ▲                  │
 *        │              approve └────reactivate────┘
 *        │                 │
 *        └──reject──▶ rejected
 */
import * as Schema from "effect/Schema"
import type { Email } from "../validation/Email.ts"

export const ResellerId = Schema.UUID.pipe(Schema.brand("ResellerId"))
export type ResellerId = typeof ResellerId.Type

export const ResellerStatus = Schema.Literal("pending", "active", "rejected", "suspended")
export type ResellerStatus = typeof ResellerStatus.Type

export interface Reseller {
  readonly id: ResellerId
  readonly email: Email
  readonly name: string
  /** The WhatsApp number, for the operator's review. The reseller API never returns the number. */
  readonly waNumber: string
  readonly status: ResellerStatus
  /** The version that a reseller token must have. Reseller tokens with another version are refused. */
  readonly tokenVersion: number
  readonly createdAt: Date
}

/** The password is correct, but the reseller is not active. */
export class ResellerNotActive extends Schema.TaggedError<ResellerNotActive>()("ResellerNotActive", {
  status: ResellerStatus
}) {}

/** No reseller has this id or email. Only operators receive this error. */
export class ResellerNotFound extends Schema.TaggedError<ResellerNotFound>()("ResellerNotFound", {
  reseller: Schema.String
}) {}
