/**
 * Declares the store of resellers.
 */
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { Reseller, ResellerId, ResellerNotFound, ResellerStatus } from "@tollgate/domain/reseller/Reseller"
import type { InvalidCredentials } from "@tollgate/domain/reseller/ResellerToken"
import type { ReviewMove, ReviewRefused } from "@tollgate/domain/reseller/Review"
import type { EmailExists } from "@tollgate/domain/reseller/Signup"
import type { CursorPage, Position } from "@tollgate/domain/validation/Cursor"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { PasswordHash } from "./PasswordHasher.ts"

export interface NewReseller {
  readonly email: Email
  readonly name: string
  readonly waNumber: string
  readonly passwordHash: PasswordHash
}

export interface Credentials {
  readonly reseller: Reseller
  readonly passwordHash: PasswordHash
}

export interface ResellerFilter {
  /** Undefined selects every status. */
  readonly status: ResellerStatus | undefined
  /** Selects names and emails that contain this text, in upper or lower case. */
  readonly search: string | undefined
}

export interface ListedReseller extends Reseller {
  readonly position: Position
}

export class Resellers extends Context.Tag("@tollgate/application/Resellers")<
  Resellers,
  {
    /** Creates a `pending` reseller and its empty quota account in one transaction. An email can be used once. */
    readonly create: (reseller: NewReseller) => Effect.Effect<Reseller, EmailExists>
    readonly find: (id: ResellerId) => Effect.Effect<Option.Option<Reseller>>
    readonly credentials: (email: Email) => Effect.Effect<Option.Option<Credentials>>
    /** Finds a reseller by the id or email that an operator entered. */
    readonly named: (idOrEmail: string) => Effect.Effect<Reseller, ResellerNotFound>
    /** Returns the resellers with one status, or all resellers, newest first. */
    readonly list: (status: ResellerStatus | undefined) => Effect.Effect<ReadonlyArray<Reseller>>
    /** Returns a page of the resellers that the filter selects, newest first. */
    readonly page: (filter: ResellerFilter, page: CursorPage) => Effect.Effect<ReadonlyArray<ListedReseller>>
    /**
     * Locks the reseller's row and applies `decideTokenEnd`, in one transaction. With a new password, stores its hash
     * and writes an audit log entry. `caller` is the reseller as it was when its token was checked.
     */
    readonly endTokens: (
      caller: Reseller,
      newPassword: PasswordHash | undefined
    ) => Effect.Effect<Reseller, InvalidCredentials>
    /**
     * Locks the reseller's row, applies `decideReview`, and writes the change, an audit log entry and the webhook
     * event, in one transaction. If the reseller already has the new status, writes nothing.
     */
    readonly review: (
      id: ResellerId,
      move: ReviewMove,
      operator: Operator
    ) => Effect.Effect<Reseller, ResellerNotFound | ReviewRefused>
  }
>() {}
