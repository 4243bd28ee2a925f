/**
 * `tollgate rankings`: the sums that the public rankings are made from.
 */
import * as Command from "@effect/cli/Command"
import { UsageRollUps } from "@tollgate/application/rankings/UsageRollUps"
import * as Effect from "effect/Effect"
import type { Answer } from "../terminal/Output.ts"
import { answering } from "./AnsweringCommand.ts"

const rebuild = answering(
  "rebuild",
  "Count the usage of every model and hour again from the settlements, while servers run.",
  {},
  () =>
    Effect.gen(function* () {
      const { corrected, days } = yield* Effect.flatMap(UsageRollUps, (rollUps) => rollUps.rebuild)
      return {
        document: { days, corrected },
        text:
          days === 0
            ? "Nothing was ever used."
            : `Counted ${days} ${days === 1 ? "day" : "days"} again: ${
                corrected === 0
                  ? "everything was right."
                  : `${corrected} ${corrected === 1 ? "sum was" : "sums were"} wrong and ${corrected === 1 ? "is" : "are"} right now.`
              }`
      } satisfies Answer
    })
)

export const rankings = Command.make("rankings").pipe(
  Command.withDescription("Rankings: the sums that the public feed is made from."),
  Command.withSubcommands([rebuild])
)
