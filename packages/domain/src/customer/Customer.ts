/**
 * A reseller's customer: a user linked to the reseller, with one pay-as-you-go balance and one plan per model.
 *
 * A link lets the reseller create keys that spend the user's balance, so knowledge of an email address is not enough to
 * create a link (docs/reference/reseller.md#e4).
 */
import * as Schema from "effect/Schema"
import { type PlanAccount, remaining } from "../ledger/Account.ts"
import type { Tokens } from "../money/Tokens.ts"
import type { UsdPico } from "../money/UsdPico.ts"
import { Email } from "../validation/Email.ts"
import { Name } from "../validation/Text.ts"
import type { UserId } from "./User.ts"

export interface Customer {
  readonly userId: UserId
  readonly email: Email
}

/** The request bodies that create a customer and a customer's API key. */
export const CustomerRequest = Schema.Struct({ email: Email })
export const CustomerKeyRequest = Schema.Struct({ name: Name })

export interface TokenPlan {
  readonly model: string
  readonly purchased: Tokens
  readonly used: Tokens
  readonly remaining: Tokens
  /** `active` while tokens remain. */
  readonly status: "active" | "exhausted"
}

export interface CustomerBalances {
  readonly paygPico: UsdPico
  readonly plans: ReadonlyArray<TokenPlan>
}

/** Returns a plan as its owner sees it: tokens reserved by open holds count as remaining. */
export const tokenPlan = (model: string, account: PlanAccount): TokenPlan => ({
  model,
  purchased: account.creditsPosted,
  used: account.debitsPosted,
  remaining: remaining(account),
  status: remaining(account) > 0n ? "active" : "exhausted"
})

/** `closed`: a reseller is linked only to users that it creates. `open`: also to existing users with the requested email. */
export type LinkPolicy = "closed" | "open"

/** The owner of a requested email: no user, a user not linked to this reseller, or a customer of this reseller. */
export type EmailOwner = "none" | "unlinked_user" | "customer"

export interface LinkDecision {
  readonly create: boolean
  readonly link: boolean
}

export const decideLink = (owner: EmailOwner, policy: LinkPolicy): LinkDecision => ({
  create: owner === "none",
  link: owner === "none" || (owner === "unlinked_user" && policy === "open")
})
