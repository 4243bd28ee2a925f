/**
 * Defines `tollgate console`, which creates, lists and revokes the sessions of operators in the console.
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { OperatorSessions, type ReadSession } from "@tollgate/application/operator/OperatorSessions"
import { localAddress, servesOperators } from "@tollgate/composition/DeploymentVariables"
import { expiresAt, OperatorName, OperatorSessionId, stateOf } from "@tollgate/domain/operator/OperatorSession"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { CommandFailed } from "../exit/CommandFailed.ts"
import { publicBaseUrl } from "../runtime/Live.ts"
import { Settings } from "../runtime/Settings.ts"
import { type Report, timestamp } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { reportCommand } from "./ReportCommand.ts"
import { argument, flag, operatorFor, option, reason } from "./SharedOptions.ts"

const name = option(
  "name",
  "NAME",
  OperatorName,
  "The name of the operator, which the audit log records with every change. By default the operating system user."
)

const nameUnusable = new CommandFailed({
  exit: "usage",
  code: "usage",
  message: "The name of the operating system user cannot be used in the audit log. Give a name with --name."
})

const off = new CommandFailed({
  exit: "refused",
  code: "operator_console_off",
  message:
    "The operator API is off in this environment, so no session was created. Set OPERATOR_CONSOLE=on for the servers and " +
    "for this command."
})

const noAddress = new CommandFailed({
  exit: "failed",
  code: "invalid_settings",
  message:
    "PORT is 0, so this command does not know the address of the server, and no session was created. Set PORT for this " +
    "command to the port that the server logs at its start, or set PUBLIC_BASE_URL."
})

const create = reportCommand(
  "console",
  "Create a session in the console, and print its one-time link, which is valid for two minutes.",
  { name: Options.optional(name), reason: Options.optional(reason) },
  (given) =>
    Effect.gen(function* () {
      const settings = yield* Settings
      if (!servesOperators(settings)) return yield* off
      const base = (yield* publicBaseUrl) ?? localAddress(settings)
      if (base === undefined) return yield* noAddress
      const operator = yield* operatorFor("console", given.reason)
      const actor = yield* Option.match(given.name, {
        onNone: () => Effect.mapError(Schema.decodeUnknown(OperatorName)(operator.actor), () => nameUnusable),
        onSome: Effect.succeed
      })
      const { code, session } = yield* Effect.flatMap(OperatorSessions, ({ create }) => create(actor, operator))
      // A browser does not send the fragment of a URL, so the code is in no log of a server or a proxy.
      const url = `${base}/console/operator#code=${Redacted.value(code)}`
      return {
        document: { session_id: session.id, actor, url, code_expires_at: timestamp(expiresAt(session)) },
        text: [
          `Open this link within two minutes. It works once, and gives access in the name of ${actor}:`,
          `  ${url}`,
          `End the session with: tollgate console revoke ${session.id}`
        ].join("\n\n")
      } satisfies Report
    })
)

const list = reportCommand("list", "List the sessions of operators, newest first.", {}, () =>
  Effect.gen(function* () {
    const sessions = yield* Effect.flatMap(OperatorSessions, ({ list }) => list)
    return {
      document: sessions.map(sessionDocument),
      text: sessions.length === 0 ? "No sessions." : sessionsTable(sessions)
    } satisfies Report
  })
)

const SessionId = OperatorSessionId.annotations({ message: () => "the UUID of a session" })
const sessionId = argument("session-id", SessionId, "The session's id, as shown by: tollgate console list")
const all = flag("all", "Revoke all sessions.")

const oneOrAll = new CommandFailed({
  exit: "usage",
  code: "usage",
  message: "Give either the id of a session or --all."
})

const revoke = reportCommand(
  "revoke",
  "End a session, or all sessions. Every server immediately refuses the token of an ended session.",
  { id: Args.optional(sessionId), all, reason: Options.optional(reason) },
  (given) =>
    Effect.gen(function* () {
      if (Option.isSome(given.id) === given.all) return yield* oneOrAll
      const operator = yield* operatorFor("console revoke", given.reason)
      const sessions = yield* OperatorSessions
      if (Option.isSome(given.id)) {
        const read = yield* sessions.end(given.id.value, operator)
        return {
          document: sessionDocument(read),
          text: `The session ${read.session.id} of ${read.session.actor} is ${stateOf(read.session, read.now)}.`
        } satisfies Report
      }
      const ended = yield* sessions.endAll(operator)
      return {
        document: { ended: ended.map(({ id }) => id) },
        text: `Ended ${ended.length} ${ended.length === 1 ? "session" : "sessions"}.`
      } satisfies Report
    })
)

/** Defines the command. Without a subcommand, it creates a session. */
export const operatorConsole = create.pipe(Command.withSubcommands([list, revoke]))

const sessionDocument = ({ now, session }: ReadSession) => ({
  session_id: session.id,
  actor: session.actor,
  state: stateOf(session, now),
  created_at: timestamp(session.createdAt),
  opened_at: timestampOrNull(session.openedAt),
  used_at: timestampOrNull(session.usedAt),
  ended_at: timestampOrNull(session.endedAt),
  expires_at: timestamp(expiresAt(session))
})

const timestampOrNull = (time: Date | undefined) => (time === undefined ? null : timestamp(time))

const sessionsTable = (sessions: ReadonlyArray<ReadSession>): string =>
  table(
    [
      { heading: "created", cell: ({ session }) => timestamp(session.createdAt) },
      { heading: "actor", cell: ({ session }) => session.actor },
      { heading: "state", cell: ({ now, session }) => stateOf(session, now) },
      { heading: "last use", cell: ({ session }) => timestampOrNull(session.usedAt) ?? "-" },
      { heading: "expires", cell: ({ session }) => timestamp(expiresAt(session)) },
      { heading: "session id", cell: ({ session }) => session.id }
    ],
    sessions
  )
