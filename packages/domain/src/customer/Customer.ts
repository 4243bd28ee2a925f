/**
 * A customer of a reseller: a user linked to it. A link lets the reseller make keys that spend the user's balance, so
 * knowing somebody's email is not enough to link them (gap E4).
 */
import * as Schema from "effect/Schema"
import { Email } from "../validation/Email.ts"
import { ApiKeyName } from "./ApiKey.ts"
import type { UserId } from "./User.ts"

export interface Customer {
  readonly userId: UserId
  readonly email: Email
}

/** What a reseller sends to have a customer, and to give one a key. */
export const CustomerRequest = Schema.Struct({ email: Email })
export const CustomerKeyRequest = Schema.Struct({ name: ApiKeyName })

/** `closed`: a reseller links whom it creates. `open`: anybody whose email it knows. */
export type LinkPolicy = "closed" | "open"

/** What is known of an email when a reseller asks for it as a customer. */
export type Acquaintance = "nobody" | "stranger" | "customer"

export interface LinkDecision {
  readonly create: boolean
  readonly link: boolean
}

export const decideLink = (known: Acquaintance, policy: LinkPolicy): LinkDecision => ({
  create: known === "nobody",
  link: known === "nobody" || (known === "stranger" && policy === "open")
})
