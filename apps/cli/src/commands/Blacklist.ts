/**
 * Defines `tollgate blacklist`, which manages the email addresses and domains that cannot sign up as resellers.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Blacklist } from "@tollgate/application/reseller/Blacklist"
import { type BlacklistEntry, BlacklistPattern } from "@tollgate/domain/reseller/Blacklist"
import * as Effect from "effect/Effect"
import type { Report } from "../terminal/Output.ts"
import { timestamp } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { reportCommand } from "./ReportCommand.ts"
import { argument, operatorFor, reason } from "./SharedOptions.ts"

const pattern = argument("pattern", BlacklistPattern, "An email address, or @ followed by a domain, like @example.com.")

const list = reportCommand("list", "List the blocked email addresses and domains.", {}, () =>
  Effect.gen(function* () {
    const entries = yield* Effect.flatMap(Blacklist, ({ list }) => list)
    return {
      document: entries.map(entryDocument),
      text:
        entries.length === 0
          ? "The blacklist is empty."
          : table(
              [
                { heading: "pattern", cell: (entry) => entry.pattern },
                { heading: "since", cell: (entry) => timestamp(entry.createdAt) }
              ],
              entries
            )
    } satisfies Report
  })
)

const add = reportCommand(
  "add",
  "Block an email address or a domain from signing up. Existing resellers are not affected.",
  { pattern, reason: Options.optional(reason) },
  ({ pattern, reason }) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("blacklist add", reason)
      const entry = yield* Effect.flatMap(Blacklist, ({ add }) => add(pattern, operator))
      return {
        document: entryDocument(entry),
        text: `${subjectOf(entry)} cannot sign up. Blocked since: ${timestamp(entry.createdAt)}.`
      } satisfies Report
    })
)

const remove = reportCommand(
  "remove",
  "Remove an email address or a domain from the blacklist.",
  { pattern, reason: Options.optional(reason) },
  ({ pattern, reason }) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("blacklist remove", reason)
      const entry = yield* Effect.flatMap(Blacklist, ({ remove }) => remove(pattern, operator))
      return {
        document: { ...entryDocument(entry), listed: false },
        text: `Removed from the blacklist: ${entry.pattern}`
      } satisfies Report
    })
)

export const blacklist = Command.make("blacklist").pipe(
  Command.withDescription("Manage the email addresses and domains that cannot sign up as resellers."),
  Command.withSubcommands([list, add, remove])
)

const entryDocument = ({ createdAt, pattern }: BlacklistEntry) => ({
  pattern,
  created_at: timestamp(createdAt),
  listed: true
})

/** Returns the subject of a sentence about an entry: the email addresses that the entry blocks. */
const subjectOf = ({ pattern }: BlacklistEntry): string =>
  pattern.startsWith("@") ? `Every address that ends with ${pattern}` : pattern
