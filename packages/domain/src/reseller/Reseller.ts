/**
 * A reseller: signs up, is reviewed, then tops up quota and mints plans to customers.
 *
 *     pending ──approve──▶ active ◀──reactivate── suspended
 *        │                  │ ▲ └────suspend────────▲
 *        └──reject──▶ rejected ┘ approve
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
  /** For the review by an operator; never returned. */
  readonly waNumber: string
  readonly status: ResellerStatus
  /** A token of another version is refused. */
  readonly tokenVersion: number
  readonly createdAt: Date
}

/** The password is right, but the reseller is not active. */
export class ResellerNotActive extends Schema.TaggedError<ResellerNotActive>()("ResellerNotActive", {
  status: ResellerStatus
}) {}

/** No reseller has this id or email; for operators. */
export class ResellerNotFound extends Schema.TaggedError<ResellerNotFound>()("ResellerNotFound", {
  reseller: Schema.String
}) {}
