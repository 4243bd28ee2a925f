/**
 * A reseller's customer is a user who is linked to the reseller. A user has at most one pay-as-you-go balance, and at
 * most one plan per model.
 *
 * With a link, the reseller can create API keys that spend the user's balances. With the link policy `closed`, a
 * reseller therefore cannot link a user whom another reseller or an operator created (docs/reference/reseller.md#e4).
 */
import * as Schema from "effect/Schema"
import { type PlanAccount, remaining } from "../ledger/Account.ts"
import type { Tokens } from "../money/Tokens.ts"
import type { UsdPico } from "../money/UsdPico.ts"
import { Email } from "../validation/Email.ts"
import { Name } from "../validation/Text.ts"
import { KeyLimitsChange } from "./KeyLimits.ts"
import type { UserId } from "./User.ts"

export interface Customer {
  readonly userId: UserId
  readonly email: Email
}

/** The request body that creates or links a customer. */
export const CustomerRequest = Schema.Struct({ email: Email })
/** The request body that creates an API key for a customer. */
export const CustomerKeyRequest = Schema.Struct({ name: Name, limits: Schema.optional(KeyLimitsChange) })
/** The request body that changes an API key of a customer. */
export const ChangeKeyRequest = Schema.Struct({ limits: KeyLimitsChange })

export interface TokenPlan {
  readonly model: string
  readonly purchased: Tokens
  readonly used: Tokens
  readonly remaining: Tokens
  /** `active` while tokens remain, otherwise `exhausted`. */
  readonly status: "active" | "exhausted"
}

export interface CustomerBalances {
  readonly paygPico: UsdPico
  readonly plans: ReadonlyArray<TokenPlan>
}

/** Returns a plan as its owner sees it. Tokens in open holds count as remaining. */
export const tokenPlan = (model: string, account: PlanAccount): TokenPlan => ({
  model,
  purchased: account.creditsPosted,
  used: account.debitsPosted,
  remaining: remaining(account),
  status: remaining(account) > 0n ? "active" : "exhausted"
})

/**
 * The users that a reseller may link: with `closed`, only users that the reseller creates; with `open`, also existing
 * users whose email the reseller sends.
 */
export type LinkPolicy = "closed" | "open"

/** The owner of a requested email: no user, a user not linked to this reseller, or a customer of this reseller. */
export type EmailOwner = "none" | "unlinked_user" | "customer"

export interface LinkDecision {
  readonly create: boolean
  readonly link: boolean
}

/** Decides whether a customer request creates a user, and whether the request links the user to the reseller. */
export const decideLink = (owner: EmailOwner, policy: LinkPolicy): LinkDecision => ({
  create: owner === "none",
  link: owner === "none" || (owner === "unlinked_user" && policy === "open")
})
