/**
 * Defines `tollgate doctor`, which checks the settings, the payment providers and the database of a deployment. The
 * command prints advice on each problem.
 */
import type { Catalogs } from "@tollgate/application/catalog/Catalogs"
import type { KeyPeppers } from "@tollgate/application/customer/KeyPeppers"
import type { ImageReviews } from "@tollgate/application/images/ImageReviews"
import type { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import type { Database } from "@tollgate/application/operations/Database"
import type { Finding } from "@tollgate/application/operator/Finding"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { databaseFindings } from "../diagnosis/DatabaseHealth.ts"
import { findingOnFailure } from "../diagnosis/FindingOnFailure.ts"
import { machineFindings } from "../diagnosis/Machine.ts"
import type { CommandFailed } from "../exit/CommandFailed.ts"
import type { Settings } from "../runtime/Settings.ts"
import type { Report } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { reportCommand } from "./ReportCommand.ts"

/** Defines the command. It opens the database itself, so that its report can contain a failure to open the database. */
export const doctorOver = (
  settings: Layer.Layer<Settings, CommandFailed>,
  database: Layer.Layer<Database | Catalogs | KeyPeppers | OpenHolds | ImageReviews | Settings, CommandFailed>
) =>
  reportCommand("doctor", "Check the settings, payment providers and database. Exits with 1 on a failure.", {}, () =>
    Effect.gen(function* () {
      const machine = yield* Effect.provide(machineFindings, settings)
      const payments = yield* Effect.promise(() => import("../diagnosis/PaymentHealth.ts")).pipe(
        Effect.flatMap(({ paymentFindings }) => paymentFindings),
        findingOnFailure(
          "payments",
          "Correct the variables that the detail names. A server with their current values does not start."
        ),
        Effect.provide(settings)
      )
      const rest = yield* databaseFindings.pipe(
        Effect.provide(database),
        findingOnFailure("database", "Correct this problem first. Nothing works without the database.")
      )
      return reportOf([...machine, ...payments, ...rest])
    })
  )

export const reportOf = (findings: ReadonlyArray<Finding>): Report => {
  const failed = findings.filter(({ status }) => status === "fail")
  const warned = findings.filter(({ status }) => status === "warn")
  const report: Report = {
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
      failed.length + warned.length === 0 ? "No problem found." : adviceOn([...failed, ...warned])
    ].join("\n\n")
  }
  if (failed.length === 0) return report
  return {
    ...report,
    problem: { code: "unhealthy", message: `These checks failed: ${failed.map(({ check }) => check).join(", ")}.` }
  }
}

const adviceOn = (findings: ReadonlyArray<Finding>): string =>
  ["Advice:", ...findings.map(({ advice, check }) => `  ${check}: ${advice ?? "none"}`)].join("\n")
