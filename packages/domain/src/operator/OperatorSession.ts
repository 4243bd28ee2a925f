/**
 * Defines the sessions in which operators use the operator API, and decides whether a session is valid
 * (docs/reference/operator.md#o1).
 *
 *     waiting ──code redeemed──▶ open ──▶ ended | expired
 *        └──▶ ended | expired
 *
 * The command line creates a session with a one-time code. The redemption of the code opens the session and returns its
 * token. Only digests of the code and the token are stored.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { charactersWithin, noHalfSurrogate, oneLine } from "../validation/Text.ts"

export const OperatorSessionId = Schema.UUID.pipe(Schema.brand("OperatorSessionId"))
export type OperatorSessionId = typeof OperatorSessionId.Type

/** Actors in the audit log that are not persons. The actors of resellers contain a colon. */
const RESERVED_ACTORS: ReadonlyArray<string> = ["server", "demo"]

/** The name of an operator in the audit log. It differs from every actor of a reseller or of a server in this log. */
export const OperatorName = Schema.Trim.pipe(
  Schema.filter(charactersWithin(1, 100)),
  Schema.filter(oneLine),
  Schema.filter(noHalfSurrogate),
  Schema.filter((name) => !name.includes(":") || "a name without a colon"),
  Schema.filter((name) => !RESERVED_ACTORS.includes(name) || `a name other than ${RESERVED_ACTORS.join(" and ")}`),
  Schema.brand("OperatorName")
)
export type OperatorName = typeof OperatorName.Type

export interface OperatorSession {
  readonly id: OperatorSessionId
  readonly actor: OperatorName
  readonly createdAt: Date
  /** The time of the redemption of the code; undefined before the redemption. */
  readonly openedAt: Date | undefined
  /** The time of the last recorded use; undefined before the redemption. */
  readonly usedAt: Date | undefined
  /** The time at which an operator ended the session. */
  readonly endedAt: Date | undefined
}

/** The body that redeems a code. A text that cannot be a code is refused in the same way as a wrong code. */
export const CodeRedemption = Schema.Struct({ code: Schema.Redacted(Schema.String) })
export type CodeRedemption = typeof CodeRedemption.Type

export const CODE_LIFETIME_MILLIS = 2 * 60_000
/** A session expires when this time has passed since its last recorded use. */
export const IDLE_MILLIS = 30 * 60_000
/** A session expires after this time since the redemption of its code, even if it is in use. */
export const LIFETIME_MILLIS = 8 * 60 * 60_000
/** A use is recorded only if the last recorded use is at least this old. Therefore most requests write nothing. */
const RECORD_USE_AFTER_MILLIS = 60_000

/** The code is unknown, used, expired or revoked. */
export class InvalidConsoleCode extends Schema.TaggedError<InvalidConsoleCode>()("InvalidConsoleCode", {}) {}

/** The token is missing or unknown, or its session has expired or ended. */
export class InvalidOperatorSession extends Schema.TaggedError<InvalidOperatorSession>()(
  "InvalidOperatorSession",
  {}
) {}

/** No session has this id. */
export class OperatorSessionNotFound extends Schema.TaggedError<OperatorSessionNotFound>()("OperatorSessionNotFound", {
  id: Schema.String
}) {}

/** The operator API is switched off in this deployment. */
export class OperatorConsoleOff extends Schema.TaggedError<OperatorConsoleOff>()("OperatorConsoleOff", {}) {}

export type OperatorSessionState = "waiting" | "open" | "ended" | "expired"

/** Returns the time at which the session expires, unless it is used or ended before. */
export const expiresAt = ({ createdAt, openedAt, usedAt }: OperatorSession): Date =>
  openedAt === undefined || usedAt === undefined
    ? new Date(createdAt.getTime() + CODE_LIFETIME_MILLIS)
    : new Date(Math.min(usedAt.getTime() + IDLE_MILLIS, openedAt.getTime() + LIFETIME_MILLIS))

export const stateOf = (session: OperatorSession, now: Date): OperatorSessionState => {
  if (session.endedAt !== undefined) return "ended"
  if (now.getTime() >= expiresAt(session).getTime()) return "expired"
  return session.openedAt === undefined ? "waiting" : "open"
}

/** Decides the redemption of a code. `session` is the stored session with this code. */
export const decideOpening = (
  session: OperatorSession | undefined,
  now: Date
): Either.Either<OperatorSession, InvalidConsoleCode> =>
  session !== undefined && stateOf(session, now) === "waiting"
    ? Either.right({ ...session, openedAt: now, usedAt: now })
    : Either.left(new InvalidConsoleCode())

export interface SessionUse {
  readonly session: OperatorSession
  /** True if the use must be recorded. */
  readonly recorded: boolean
}

/** Decides whether a request may use a session. `session` is the stored session with the token of the request. */
export const decideUse = (
  session: OperatorSession | undefined,
  now: Date
): Either.Either<SessionUse, InvalidOperatorSession> => {
  if (session?.usedAt === undefined || stateOf(session, now) !== "open") {
    return Either.left(new InvalidOperatorSession())
  }
  const recorded = now.getTime() - session.usedAt.getTime() >= RECORD_USE_AFTER_MILLIS
  return Either.right({ session: recorded ? { ...session, usedAt: now } : session, recorded })
}
