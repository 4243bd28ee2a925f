/**
 * Gives operators access to the operator API: creates sessions, redeems their one-time codes, and authenticates each
 * request (docs/reference/operator.md#sessions).
 */
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { Operator } from "@tollgate/domain/operations/Operation"
import {
  type InvalidConsoleCode,
  InvalidOperatorSession,
  OperatorConsoleOff,
  type OperatorName,
  type OperatorSession,
  OperatorSessionId,
  OperatorSessionNotFound
} from "@tollgate/domain/operator/OperatorSession"
import { type ClientAddress, operatorWindows } from "@tollgate/domain/reseller/AttemptLimit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { CurrentParty } from "../operations/CurrentParty.ts"
import { Shares, withinShare } from "../operations/Shares.ts"
import { Attempts } from "../reseller/ResellerAccess.ts"

export interface CreatedSession {
  readonly session: OperatorSession
  /** The one-time code. Only a digest is stored, so the code cannot be returned again. */
  readonly code: Redacted.Redacted<string>
}

export interface OpenedSession {
  readonly session: OperatorSession
  /** The token of the session. Only a digest is stored, so the token cannot be returned again. */
  readonly token: Redacted.Redacted<string>
}

/** A session and the database time at which it was read. */
export interface ReadSession {
  readonly session: OperatorSession
  readonly now: Date
}

/**
 * The store of operator sessions. A transaction that creates, opens or ends a session also writes an audit log entry.
 */
export class OperatorSessions extends Context.Tag("@tollgate/application/OperatorSessions")<
  OperatorSessions,
  {
    /** Creates a session with a new code. Deletes sessions that were created more than a week ago. */
    readonly create: (actor: OperatorName, operator: Operator) => Effect.Effect<CreatedSession>
    /**
     * Locks the session with this code, applies `decideOpening` at the database time, and stores the digest of a new
     * token. Of concurrent redemptions of one code, at most one succeeds.
     */
    readonly open: (
      code: Redacted.Redacted<string>,
      address: ClientAddress
    ) => Effect.Effect<OpenedSession, InvalidConsoleCode>
    /**
     * Reads the session with this token, applies `decideUse` at the database time, and records the use if it is due.
     */
    readonly use: (token: Redacted.Redacted<string>) => Effect.Effect<OperatorSession, InvalidOperatorSession>
    /** Returns all stored sessions, newest first. */
    readonly list: Effect.Effect<ReadonlyArray<ReadSession>>
    /** Ends a session. A session that has already ended or expired stays unchanged, and no entry is written. */
    readonly end: (id: OperatorSessionId, operator: Operator) => Effect.Effect<ReadSession, OperatorSessionNotFound>
    /** Ends all sessions that are waiting or open, and returns them. */
    readonly endAll: (operator: Operator) => Effect.Effect<ReadonlyArray<OperatorSession>>
  }
>() {}

/** Whether this deployment serves the operator API, and whether it is in production. */
export class OperatorPolicy extends Context.Tag("@tollgate/application/OperatorPolicy")<
  OperatorPolicy,
  { readonly enabled: boolean; readonly isProduction: boolean }
>() {}

/**
 * Maximum number of requests to the operator API that are in progress in this process. One IP address gets at most half
 * of them. A small number is sufficient, because a deployment has few operators.
 */
const MAX_REQUESTS_IN_PROGRESS = 64

/** The shares of IP addresses in the requests in progress. */
export class OperatorRequests extends Context.Tag("@tollgate/application/OperatorRequests")<
  OperatorRequests,
  Shares<ClientAddress>
>() {
  static readonly layer = Layer.sync(OperatorRequests, () => new Shares<ClientAddress>(MAX_REQUESTS_IN_PROGRESS))
}

/** Fails if the operator API is off. */
export const operatorApiIsOn = Effect.flatMap(OperatorPolicy, ({ enabled }) =>
  enabled ? Effect.void : new OperatorConsoleOff()
)

/**
 * Refuses the request if the operator API is off, or if the IP address of the client has used up its share of the
 * requests in progress.
 */
const admitted = <A, E, R>(address: ClientAddress, request: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    yield* operatorApiIsOn
    return yield* withinShare(
      yield* OperatorRequests,
      address,
      Effect.provideService(request, CurrentParty, address),
      new Overloaded({ retryAfterSeconds: 1 })
    )
  })

/**
 * Counts a failed attempt of this address, and returns the error of the attempt. Returns `RateLimited` instead if too
 * many attempts of this address have failed. Only failures are counted, so a valid code or token is never refused
 * because of failures of other clients with the same address.
 */
const failed = <E>(address: ClientAddress, error: E) =>
  Effect.gen(function* () {
    yield* (yield* Attempts).count(operatorWindows(address))
    yield* Effect.logWarning("operator access refused", { address })
    return yield* Effect.fail(error)
  })

/** Redeems a one-time code for the token of its session. */
export const openSession = (code: Redacted.Redacted<string>, address: ClientAddress) =>
  admitted(
    address,
    Effect.gen(function* () {
      const opened = yield* Effect.catchTag(
        (yield* OperatorSessions).open(code, address),
        "InvalidConsoleCode",
        (error) => failed(address, error)
      )
      yield* Effect.logInfo("operator session opened", { address, session: opened.session.id })
      return opened
    })
  )

/** Runs the request of an operator. The token identifies the session. */
export const asOperator = <A, E, R>(
  token: Redacted.Redacted<string> | undefined,
  address: ClientAddress,
  request: (session: OperatorSession) => Effect.Effect<A, E, R>
) =>
  admitted(
    address,
    Effect.gen(function* () {
      if (token === undefined) return yield* new InvalidOperatorSession()
      const session = yield* Effect.catchTag((yield* OperatorSessions).use(token), "InvalidOperatorSession", (error) =>
        failed(address, error)
      )
      return yield* request(session)
    })
  )

/** Ends the session of the request. */
export const endSession = (session: OperatorSession) =>
  Effect.gen(function* () {
    const ended = (yield* OperatorSessions).end(session.id, operatorOf(session, "end of the session", undefined))
    // A session that was deleted in the meantime has ended too.
    yield* Effect.catchTag(ended, "OperatorSessionNotFound", () => Effect.void)
  })

const readSessionId = Schema.decodeOption(OperatorSessionId)

/** Ends the session with this id, in the name of the operator who sent the request. */
export const endSessionOf = (caller: OperatorSession, sessionId: string, reason: string | undefined) =>
  Effect.gen(function* () {
    const id = readSessionId(sessionId)
    if (Option.isNone(id)) return yield* new OperatorSessionNotFound({ id: sessionId })
    return yield* (yield* OperatorSessions).end(id.value, operatorOf(caller, "console revoke", reason))
  })

/** Returns the operator of a session for the audit log. If no reason is given, the reason names the action. */
export const operatorOf = ({ actor }: OperatorSession, action: string, reason: string | undefined): Operator => ({
  actor,
  reason: reason ?? `console: ${action}`
})
