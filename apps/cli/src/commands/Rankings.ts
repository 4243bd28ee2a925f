/**
 * Defines `tollgate rankings`, which rebuilds the usage sums from which the public rankings are computed.
 */
import * as Command from "@effect/cli/Command"
import { UsageRollUps } from "@tollgate/application/rankings/UsageRollUps"
import * as Effect from "effect/Effect"
import type { Report } from "../terminal/Output.ts"
import { reportCommand } from "./ReportCommand.ts"

const rebuild = reportCommand(
  "rebuild",
  "Rebuild the usage sums of every minute, hour and day from the settlements. Servers can run at the same time.",
  {},
  () =>
    Effect.gen(function* () {
      const { corrected, days } = yield* Effect.flatMap(UsageRollUps, (rollUps) => rollUps.rebuild)
      return {
        document: { days, corrected },
        text:
          days === 0
            ? "There is no usage to count."
            : `Rebuilt ${days} ${days === 1 ? "day" : "days"}: ${
                corrected === 0
                  ? "every sum was correct."
                  : `corrected ${corrected} wrong ${corrected === 1 ? "sum" : "sums"}.`
              }`
      } satisfies Report
    })
)

export const rankings = Command.make("rankings").pipe(
  Command.withDescription("Maintain the data of the public rankings."),
  Command.withSubcommands([rebuild])
)
