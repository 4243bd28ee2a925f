/**
 * `tollgate doctor`: looks at everything a gateway needs, and says what to do about what is not well.
 */
import type { Catalogs } from "@tollgate/application/catalog/Catalogs"
import type { ImageReviews } from "@tollgate/application/images/ImageReviews"
import type { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import type { Database } from "@tollgate/application/operations/Database"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { databaseFindings } from "../diagnosis/DatabaseHealth.ts"
import { type Finding, orFinding } from "../diagnosis/Finding.ts"
import { machineFindings } from "../diagnosis/Machine.ts"
import type { CommandFailed } from "../runtime/CommandFailed.ts"
import type { Settings } from "../runtime/Settings.ts"
import type { Answer } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { answering } from "./AnsweringCommand.ts"

/** Opens the database itself: that this fails is the first thing to report. */
export const doctorOver = (
  settings: Layer.Layer<Settings, CommandFailed>,
  database: Layer.Layer<Database | Catalogs | OpenHolds | ImageReviews | Settings, CommandFailed>
) =>
  answering("doctor", "Look at everything the gateway needs; exit 1 when something must be mended.", {}, () =>
    Effect.gen(function* () {
      const machine = yield* Effect.provide(machineFindings, settings)
      const payments = yield* Effect.promise(() => import("../diagnosis/PaymentHealth.ts")).pipe(
        Effect.flatMap(({ paymentFindings }) => paymentFindings),
        orFinding("payments", "Mend these settings; a server with them does not start."),
        Effect.provide(settings)
      )
      const rest = yield* databaseFindings.pipe(
        Effect.provide(database),
        orFinding("database", "Nothing works without it; mend this first.")
      )
      return answerOf([...machine, ...payments, ...rest])
    })
  )

export const answerOf = (findings: ReadonlyArray<Finding>): Answer => {
  const failed = findings.filter(({ status }) => status === "fail")
  const warned = findings.filter(({ status }) => status === "warn")
  const answer: Answer = {
    document: {
      ok: failed.length === 0,
      checks: findings.map(({ advice, check, detail, status }) => ({ check, status, detail, advice: advice ?? null }))
    },
    text: [
      table(
        [
          { heading: "status", cell: ({ status }) => status },
          { heading: "check", cell: ({ check }) => check },
          { heading: "detail", cell: ({ detail }) => detail }
        ],
        findings
      ),
      failed.length + warned.length === 0 ? "All is well." : adviceOn([...failed, ...warned])
    ].join("\n\n")
  }
  if (failed.length === 0) return answer
  return {
    ...answer,
    trouble: { code: "unhealthy", message: `Mend first: ${failed.map(({ check }) => check).join(", ")}.` }
  }
}

const adviceOn = (findings: ReadonlyArray<Finding>): string =>
  ["What to do:", ...findings.map(({ advice, check }) => `  ${check}: ${advice ?? "nothing"}`)].join("\n")
