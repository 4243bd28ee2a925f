/**
 * `tollgate blacklist`: addresses and domains that may not sign up as resellers.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Blacklist } from "@tollgate/application/reseller/Blacklist"
import { type BlacklistEntry, BlacklistPattern } from "@tollgate/domain/reseller/Blacklist"
import * as Effect from "effect/Effect"
import { operatorFor } from "../runtime/Actor.ts"
import { timestamp } from "../terminal/JsonDocument.ts"
import type { Answer } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { answering } from "./AnsweringCommand.ts"
import { argument, reason } from "./SharedOptions.ts"

const pattern = argument("pattern", BlacklistPattern, "An address, or @ and a domain: @example.com.")

const list = answering("list", "List who may not sign up.", {}, () =>
  Effect.gen(function* () {
    const entries = yield* Effect.flatMap(Blacklist, ({ list }) => list)
    return {
      document: entries.map(entryDocument),
      text:
        entries.length === 0
          ? "Anybody may sign up."
          : table(
              [
                { heading: "pattern", cell: (entry) => entry.pattern },
                { heading: "since", cell: (entry) => timestamp(entry.createdAt) }
              ],
              entries
            )
    } satisfies Answer
  })
)

const add = answering(
  "add",
  "Keep an address, or everybody of a domain, from signing up. Who signed up before is not touched.",
  { pattern, reason: Options.optional(reason) },
  ({ pattern, reason }) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("blacklist add", reason)
      const entry = yield* Effect.flatMap(Blacklist, ({ add }) => add(pattern, operator))
      return {
        document: entryDocument(entry),
        text: `${whom(entry)} may not sign up, since ${timestamp(entry.createdAt)}.`
      } satisfies Answer
    })
)

const remove = answering(
  "remove",
  "Let an address or a domain sign up again.",
  { pattern, reason: Options.optional(reason) },
  ({ pattern, reason }) =>
    Effect.gen(function* () {
      const operator = yield* operatorFor("blacklist remove", reason)
      const entry = yield* Effect.flatMap(Blacklist, ({ remove }) => remove(pattern, operator))
      return {
        document: { ...entryDocument(entry), listed: false },
        text: `${whom(entry)} may sign up again.`
      } satisfies Answer
    })
)

export const blacklist = Command.make("blacklist").pipe(
  Command.withDescription("The blacklist: addresses and domains that may not sign up as resellers."),
  Command.withSubcommands([list, add, remove])
)

const entryDocument = ({ createdAt, pattern }: BlacklistEntry) => ({
  pattern,
  created_at: timestamp(createdAt),
  listed: true
})

/** As the beginning of a sentence. */
const whom = ({ pattern }: BlacklistEntry): string => (pattern.startsWith("@") ? `Everybody ${pattern}` : pattern)
